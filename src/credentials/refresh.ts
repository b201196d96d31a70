import { setTimeout as sleep } from 'node:timers/promises';
import type { Connector } from '../connectors/catalog.ts';
import type { TokenScheme } from '../connectors/format/format.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { whileRenewing } from '../runtime/lease.ts';
import { credentialNotFound, type Credential } from './credential.ts';
import { acquireLease, extendLease, readLeased, releaseLease } from './renewal-lease.ts';
import { endCredential } from './credential-end.ts';
import { isRenewable, renew, type RenewContext } from './renew.ts';
import { workedJustNow } from './refusal.ts';
import { isDue, isUsable, secondsUntil, type Refused } from './renewal-times.ts';

/** Types of schemes whose credentials hold tokens that are fetched and renewed. */
const TOKEN_TYPES: ReadonlySet<string> = new Set<TokenScheme['type']>([
  'oauth2',
  'oauth2_client_credentials',
  'token_exchange',
]);
/** Interval between reads while another process renews. */
const POLL_MS = 100;
/** Longer than two attempts at a token endpoint; a process that holds the lease longer has probably died. */
const MAX_WAIT_MS = 40 * SECOND;

/**
 * Returns the credential with tokens that are valid now. Tokens that are not due return at once, without a read of
 * the store. One call of one process renews due tokens. The others wait only if their tokens no longer work.
 * `refused` names a version that the third party rejected early. It is returned only when nothing can renew it.
 * @throws GatehouseError `credential_invalid` when the account needs to be connected again, `oauth_app_missing`,
 * `upstream_rejected` when the third party rejects the OAuth app, upstream_* when it cannot be reached and the stored
 * tokens no longer work, `credential_not_found` when it was deleted during the renewal.
 */
export async function freshCredential(
  context: RenewContext,
  connector: Connector,
  { credential, refused }: { credential: Credential; refused?: Refused | undefined },
): Promise<Credential> {
  if (!holdsTokens(credential)) return credential;
  const now = context.clock.now();
  if (!isDue(credential, now, refused)) return credential;
  const usable = isUsable(credential, now, refused);
  if (usable && isResting(credential, now)) return credential;

  const { renewals } = context.credentialMemory;
  const { credentialId } = credential;
  const running = renewals.get(credentialId);
  if (running) {
    if (usable) return credential;
    const renewed = await running;
    // The running renewal may have another cause than this rejection.
    if (!isDue(renewed, context.clock.now(), refused)) return renewed;
    return freshCredential(context, connector, { credential: renewed, refused });
  }
  const renewal = renewOrWait(context, connector, { asked: credential, refused }).finally(() =>
    renewals.delete(credentialId),
  );
  renewals.set(credentialId, renewal);
  return renewal;
}

/**
 * Runs a call with valid tokens, and once more with new ones when the third party rejects them early.
 * A rejected call did nothing, so repeating it is safe.
 * @throws GatehouseError as freshCredential, and every error of `call`.
 */
export async function withFreshTokens<T>(
  context: RenewContext,
  { connector, credential }: { connector: Connector; credential: Credential },
  call: (credential: Credential) => Promise<T>,
): Promise<T> {
  const fresh = await freshCredential(context, connector, { credential });
  try {
    return await call(fresh);
  } catch (error) {
    if (!holdsTokens(fresh) || !isRefusal(error) || workedJustNow(context, fresh)) throw error;
    const renewed = await freshCredential(context, connector, {
      credential: fresh,
      refused: { version: fresh.version },
    });
    if (renewed.version === fresh.version) throw error;
    return call(renewed);
  }
}

export function holdsTokens({ type }: Pick<Credential, 'type'>): boolean {
  return TOKEN_TYPES.has(type);
}

function isRefusal(error: unknown): boolean {
  return (
    error instanceof GatehouseError &&
    error.code === 'credential_invalid' &&
    error.details?.['reason'] === 'refused'
  );
}

/** Returns whether the last renewal failed and the next is not due yet. */
function isResting({ refreshAfter }: Credential, now: number): boolean {
  return refreshAfter !== null && refreshAfter > now;
}

/** Renews under the lease of the row, or waits for the process that holds it. */
async function renewOrWait(
  context: RenewContext,
  connector: Connector,
  { asked, refused }: { asked: Credential; refused: Refused | undefined },
): Promise<Credential> {
  const { db, clock } = context;
  for (let waitedMs = 0; waitedMs < MAX_WAIT_MS; waitedMs += POLL_MS) {
    if (waitedMs > 0) await sleep(POLL_MS);
    const now = clock.now();
    const leased = await readLeased(db, asked.credentialId, now);
    if (!leased) throw credentialNotFound(asked.credentialId);
    const { credential, held } = leased;
    if (credential.state !== 'active' && asked.state === 'active')
      throw deadCredential(connector, credential);
    if (!isDue(credential, now, refused)) return credential;

    const usable = isUsable(credential, now, refused);
    if (isResting(credential, now)) {
      if (usable) return credential;
      throw restingError(connector, credential, now);
    }
    if (held) {
      if (usable) return credential;
      continue;
    }
    if (!isRenewable(context, credential)) {
      if (isUsable(credential, now)) return credential;
      const reason = `The access ended, and ${connector.name} gave no way to renew it. Connect the account again.`;
      const ending = { state: 'needs_reconnect' as const, reason };
      await endCredential(context, credential, { ...ending, cause: 'no_refresh_token' });
      throw deadCredential(connector, { ...credential, ...ending });
    }
    const lease = await acquireLease(db, leased, now);
    if (!lease) continue;
    const renewal = {
      renew: () => extendLease(db, lease, clock.now()),
      onError: (error: unknown) =>
        context.log.warn({ err: error, credentialId: credential.credentialId }, 'lease not renewed'),
    };
    const { lastEndedAt } = leased;
    try {
      return await whileRenewing(renewal, () => renew(context, { connector, lease, refused, lastEndedAt }));
    } finally {
      await releaseLease(db, lease, clock.now());
    }
  }
  throw new GatehouseError(
    'upstream_timeout',
    `The access token for ${connector.name} is being renewed, and that takes longer than usual. Try again in a minute.`,
    { details: { reason: 'renewal_pending' }, retryAfterSeconds: 60 },
  );
}

function restingError(connector: Connector, { refreshAfter }: Credential, now: number): GatehouseError {
  const seconds = secondsUntil(refreshAfter ?? now, now);
  return new GatehouseError(
    'upstream_failed',
    `${connector.name} did not renew the access token. The next attempt is in ${seconds} s.`,
    {
      details: { connectorId: connector.connectorId, reason: 'renewal_failed' },
      retryAfterSeconds: seconds,
    },
  );
}

/** Returns the error for a call whose credential ended while the call waited. */
function deadCredential(
  connector: Connector,
  { credentialId, state, reason, appMessage }: Credential,
): GatehouseError {
  return new GatehouseError(
    'credential_invalid',
    `The credential "${credentialId}" for ${connector.name} cannot be used. ${reason ?? 'It was revoked.'}`,
    {
      details: {
        reason: 'revoked',
        ...(appMessage === null ? {} : { message: appMessage }),
        state,
        credentialId,
      },
    },
  );
}
