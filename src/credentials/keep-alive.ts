import type { Base } from '../base.ts';
import { HOUR, MINUTE, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { fullJitter } from '../runtime/backoff.ts';
import { createLoop, type Loop } from '../runtime/loop.ts';
import { toCredential, type Credential } from './credential.ts';
import { freshCredential } from './refresh.ts';
import type { RenewContext } from './renew.ts';

const ROUND_MS = 10 * MINUTE;
/** Processes that start together begin their first round at different times. */
const FIRST_ROUND_WITHIN_MS = MINUTE;
const BATCH = 20;
/** Delay before a failed renewal is retried. An hour is short, because refresh tokens live for days. */
const AGAIN_MS = HOUR;
/** Longest wait of close() for a running renewal, whose new tokens must be stored. */
const CLOSE_MS = 20 * SECOND;

/**
 * Renews unused credentials before their refresh tokens expire of disuse, every ten minutes until it is closed.
 * Any number of processes may run it: the lease of each row lets only one of them renew.
 */
export function startKeepAlive(context: RenewContext & Pick<Base, 'log'>): Pick<Loop, 'close'> {
  const loop = createLoop({
    drainMs: CLOSE_MS,
    turn: ({ signal }) => renewIdle(context, signal),
    onError: (error) => context.log.error({ err: error }, 'idle credentials not renewed'),
  });
  loop.every(ROUND_MS, fullJitter(FIRST_ROUND_WITHIN_MS));
  return loop;
}

/** Renews every credential whose `refresh_by` has passed, one after the other. */
export async function renewIdle(context: RenewContext, signal?: AbortSignal): Promise<void> {
  const began = context.clock.now();
  for (;;) {
    const idle = await findIdle(context, began);
    for (const credential of idle) {
      if (signal?.aborted) return;
      await renewOne(context, credential);
    }
    if (idle.length < BATCH) return;
  }
}

async function findIdle({ db, clock }: RenewContext, until: number): Promise<Credential[]> {
  const now = clock.now();
  const rows = await db
    .selectFrom('credentials')
    .selectAll()
    .where('refresh_by', '<=', until)
    .where('state', '=', 'active')
    .where((eb) => eb.or([eb('refresh_after', 'is', null), eb('refresh_after', '<=', now)]))
    .where((eb) => eb.or([eb('lease_token', 'is', null), eb('lease_until', '<=', now)]))
    .orderBy('refresh_by')
    .limit(BATCH)
    .execute();
  return rows.map(toCredential);
}

/**
 * Renews one credential, which saves a new `refresh_by`. A failure is put off, so that it does not block the others.
 */
async function renewOne(context: RenewContext, credential: Credential): Promise<void> {
  const { catalog, log } = context;
  const { credentialId, connectorId, version, environment } = credential;
  const connector = catalog.connector(environment, connectorId);
  try {
    if (connector) {
      const renewed = await freshCredential(context, connector, { credential, refused: { version } });
      if (renewed.version !== version) return;
    }
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    log.warn({ credentialId, connectorId, code: error.code }, 'idle credential not renewed');
  }
  await defer(context, credential);
}

async function defer({ db, clock }: RenewContext, { credentialId, version }: Credential): Promise<void> {
  await db
    .updateTable('credentials')
    .set({ refresh_by: clock.now() + AGAIN_MS })
    .where('credential_id', '=', credentialId)
    .where('version', '=', version)
    .execute();
}
