import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { updateInBatches } from '../store/batches.ts';
import { WAITS } from './claim.ts';

const MAX_CHARS = 2000;

/** Coarse on purpose: whoever may subscribe must not learn what the network inside looks like. */
const RULES: Record<string, string> = {
  blocked_address:
    'must be an https address that leads to no private, loopback, link-local or metadata address',
  dns: 'has a host that could not be found (DNS)',
};

/**
 * An address that deliveries may go to: https (http where the configuration allows a plain address), no user name, no
 * fragment, and neither a literal nor a name that leads to a refused address now. Each connection is judged again.
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

/** A new address begins with a clean slate: what the one before asked for, and how long it failed, says nothing of it. */
export function atAddress(address: string) {
  return { address, next_slot_at: null, hold_until: null, failing_since: null };
}

/**
 * After a new address is stored: what waits for a retry that the one before was to blame for is due now, and that as well as
 * what is due already has the whole schedule before it. PostgreSQL passes over rows that somebody else holds: those are being written or claimed, and go there as well.
 */
export async function sendAtNewAddress(
  { db, clock, store, deliverer }: Pick<Context, 'db' | 'clock' | 'store' | 'deliverer'>,
  subscriptionId: string,
): Promise<void> {
  const now = clock.now();
  await updateInBatches((limit) =>
    db
      .updateTable('deliveries')
      .set({
        next_at: sql<number>`case when next_at > ${now} then ${now} else next_at end`,
        step: 0,
        updated_at: now,
      })
      .where('delivery_id', 'in', (some) =>
        some
          .selectFrom('deliveries')
          .select('delivery_id')
          .where('subscription_id', '=', subscriptionId)
          .where(WAITS)
          .where('lease_token', 'is', null)
          .where((e) => e.or([e('next_at', '>', now), e('step', '>', 0)]))
          .limit(limit)
          .$if(store.kind === 'postgres', (query) => query.forUpdate().skipLocked()),
      )
      .executeTakeFirst(),
  );
  deliverer.wake();
}
