import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../sources/context.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { inBatches } from '../store/batches.ts';
import { WAITS } from '../outbox/due.ts';

const MAX_CHARS = 2000;
/** Deliveries changed by one statement. It is small, because SQLite has one writer. */
const BATCH = 500;

/** Rules by reason. They are coarse, because a subscriber must not map the internal network. */
const RULES: Record<string, string> = {
  blocked_address:
    'must be an https address that leads to no private, loopback, link-local or metadata address',
  dns: 'has a host that could not be found (DNS)',
};

/**
 * Asserts that deliveries may go to an address: https (http where the configuration allows it), no user name, no
 * fragment. Its host must not be or resolve to a refused address. Each connection checks the address again.
 * @throws GatehouseError `invalid_request` naming the field and the rule, with a coarse `details.reason`.
 */
export async function assertAddress(
  { outbound }: Pick<Context, 'outbound'>,
  address: string,
  field: string,
): Promise<void> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.hash) {
    throw invalidRequest([{ field, rule: 'must be an https address without user name and fragment' }]);
  }
  if (address.length > MAX_CHARS) {
    throw invalidRequest([{ field, rule: `must have at most ${MAX_CHARS} characters` }]);
  }
  try {
    await outbound.examine(address);
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    const reason = String(error.details?.['reason'] ?? 'blocked_address');
    const rule = RULES[reason] ?? RULES['blocked_address'] ?? '';
    const refusal = invalidRequest([{ field, rule }]);
    throw new GatehouseError('invalid_request', refusal.message, {
      details: { ...refusal.details, reason },
      cause: error,
    });
  }
}

/** Returns the columns of a new address. The pause and the failures of the old address are cleared. */
export function columnsOfAddress(address: string) {
  return { address, next_slot_at: null, hold_until: null, failing_since: null };
}

type SendContext = Pick<Context, 'db' | 'clock' | 'store' | 'dispatcher'>;

/**
 * Restarts the retry schedule of due deliveries that waited for the old address. Call it before the new address is stored,
 * because they are claimed for the new address right after that. PostgreSQL skips rows that another transaction locks.
 */
export async function restartSchedules(
  { db, clock, store }: SendContext,
  subscriptionId: string,
): Promise<void> {
  const now = clock.now();
  const due = db
    .selectFrom('deliveries')
    .select(['delivery_id', 'next_at'])
    .where('subscription_id', '=', subscriptionId)
    .where(WAITS)
    .where('lease_token', 'is', null)
    .where('next_at', '<=', now)
    .where('step', '>', 0)
    .orderBy('next_at')
    .orderBy('delivery_id')
    .limit(BATCH);
  for (let after = { at: 0, id: '' }; ;) {
    const some = await due
      // A condition of its own, so that the index scan begins there.
      .where('next_at', '>=', after.at)
      .where((e) => e.or([e('next_at', '>', after.at), e('delivery_id', '>', after.id)]))
      .execute();
    const last = some.at(-1);
    if (!last) return;
    await db
      .updateTable('deliveries')
      .set({ step: 0, updated_at: now })
      .where('delivery_id', 'in', (free) =>
        free
          .selectFrom('deliveries')
          .select('delivery_id')
          .where(
            'delivery_id',
            'in',
            some.map((row) => row.delivery_id),
          )
          .where(WAITS)
          .where('lease_token', 'is', null)
          .$if(store.kind === 'postgres', (query) => query.forUpdate().skipLocked()),
      )
      .execute();
    after = { at: last.next_at, id: last.delivery_id };
    await nextTurn();
  }
}

/**
 * Makes deliveries due now that wait for a retry because the old address failed, and restarts their schedule. Call it
 * after the new address is stored. PostgreSQL skips locked rows. Their holders send them to the new address too.
 */
export async function sendAtNewAddress(
  { db, clock, store, dispatcher }: SendContext,
  subscriptionId: string,
): Promise<void> {
  const now = clock.now();
  await inBatches((limit) =>
    db
      .updateTable('deliveries')
      .set({ next_at: now, step: 0, updated_at: now })
      .where('delivery_id', 'in', (some) =>
        some
          .selectFrom('deliveries')
          .select('delivery_id')
          .where('subscription_id', '=', subscriptionId)
          .where(WAITS)
          .where('lease_token', 'is', null)
          .where('next_at', '>', now)
          .limit(limit)
          .$if(store.kind === 'postgres', (query) => query.forUpdate().skipLocked()),
      )
      .executeTakeFirst(),
  );
  dispatcher.wake();
}
