import { sql, type Insertable } from 'kysely';
import type { Base } from '../base.ts';
import { HOUR } from '../lib/clock.ts';
import { inTexts, isPostgres, manyRows, perDatabase, runPrepared, textsFor } from '../store/prepared.ts';
import type { Tables, Tx } from '../store/schema.ts';
import { type Item } from './claim-deliveries.ts';
import { SUBSCRIPTION_ORDER } from './due.ts';
import type { FirstAttempt } from './deliveries.ts';
import type { DeliveryTarget } from './delivery-target.ts';

/** The outcome of an attempt. Times are epoch milliseconds. */
export interface AttemptOutcome {
  item: Item;
  target: DeliveryTarget;
  at: number;
  durationMs: number;
  /** HTTP status; null without an answer. */
  status: number | null;
  /** Error code, one of a few; null after a success. */
  error: string | null;
  /** The beginning of the answer, without secrets. */
  excerpt: string | null;
  verdict: 'succeeded' | 'dead' | { retryAt: number };
  /** Whether a failure counts against the receiver. A request for fewer deliveries (429, 503) does not. */
  counts: boolean;
  /** Whether the receiver answered that it is gone for good (410). */
  gone: boolean;
  /** End of the pause that the receiver asked for (429 or 503 with Retry-After); 0 when it asked for none. */
  holdUntil: number;
}

/** A subscription is disabled when its receiver has failed for this long without a success. */
export const GIVE_UP_AFTER_MS = 120 * HOUR;

/** A subscription that an outcome disabled. */
export interface Disabled {
  target: DeliveryTarget;
  reason: string;
}

/** Skips an attempt whose number is stored already. An outcome that cannot be stored would stop all deliveries. */
const insertAttempts = manyRows((db, rows: Insertable<Tables['delivery_attempts']>[]) =>
  db
    .insertInto('delivery_attempts')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing()),
);
const storeFailure = perDatabase((db) =>
  db
    .updateTable('deliveries')
    .set({
      status: 'waiting',
      attempts: 0,
      step: 0,
      next_at: 0,
      lease_token: sql`null`,
      offered: sql.lit(0),
      last_status: 0,
      last_error: '',
      updated_at: 0,
    })
    .where('delivery_id', '=', '')
    .where('lease_token', '=', '')
    .returning('delivery_id')
    .compile(),
);

/**
 * Stores the outcomes of deliveries that this process still leases. A process that paused past its leases stores none.
 * Returns the ids of the stored deliveries and the subscriptions that these outcomes disabled.
 */
export async function recordOutcomes(
  tx: Tx,
  context: Pick<Base, 'db' | 'clock' | 'store'>,
  outcomes: readonly AttemptOutcome[],
): Promise<{ written: ReadonlySet<string>; disabled: Disabled[] }> {
  const now = context.clock.now();
  const succeeded = outcomes.filter(({ verdict }) => verdict === 'succeeded');
  const failed = outcomes.filter(({ verdict }) => verdict !== 'succeeded');
  const addresses = failed.length > 0 ? await addressesOf(tx, context, outcomes) : undefined;
  const isCurrent = ({ target }: AttemptOutcome) =>
    !addresses || addresses.get(target.subscriptionId) === target.address;
  const written = await recordSuccesses(tx, context, { outcomes: succeeded, now });
  for (const outcome of failed) {
    const { item, verdict, status, error } = outcome;
    // A late failure of an old address does not count. The new address gets the delivery now, with the whole schedule.
    const next = isCurrent(outcome)
      ? { verdict, step: item.step + 1 }
      : { verdict: { retryAt: now }, step: 0 };
    const { rows } = await runPrepared(tx, storeFailure(context.db), [
      next.verdict === 'dead' ? 'dead' : 'waiting',
      item.attempts + 1,
      next.step,
      typeof next.verdict === 'object' ? next.verdict.retryAt : now,
      status,
      error,
      now,
      item.deliveryId,
      item.token,
    ]);
    for (const row of rows) written.add(row.delivery_id);
  }
  const ours = outcomes.filter(({ item }) => written.has(item.deliveryId));
  await insertAttempts(context.db, tx, ours.filter((outcome) => !succeededAtOnce(outcome)).map(toAttempt));
  return { written, disabled: await updateReceivers(tx, context, { outcomes: ours.filter(isCurrent), now }) };
}

/**
 * Returns the current addresses of the outcomes' subscriptions, and locks their rows. Subscriptions are locked before
 * deliveries everywhere; the opposite order could deadlock with a transaction that waits for the delivery.
 */
async function addressesOf(
  tx: Tx,
  { db }: Pick<Base, 'db'>,
  outcomes: readonly AttemptOutcome[],
): Promise<Map<string, string>> {
  const ids = [...new Set(outcomes.map(({ target }) => target.subscriptionId))];
  const { rows } = await runPrepared(tx, addressesIn(db), [textsFor(db, ids)]);
  return new Map(rows.map((row) => [row.subscription_id, row.address]));
}

const addressesIn = perDatabase((db) => {
  const found = db
    .selectFrom('subscriptions')
    .select(['subscription_id', 'address'])
    .where('subscription_id', 'in', inTexts(db));
  return (isPostgres(db) ? found.orderBy(SUBSCRIPTION_ORDER).forUpdate() : found).compile();
});

/** Returns whether the first attempt succeeded, as most do. It is stored with the delivery and needs no row of its own. */
function succeededAtOnce({ item, verdict }: AttemptOutcome): boolean {
  return verdict === 'succeeded' && item.attempts === 0;
}

async function recordSuccesses(
  tx: Tx,
  { db, store }: Pick<Base, 'db' | 'store'>,
  { outcomes, now }: { outcomes: readonly AttemptOutcome[]; now: number },
): Promise<Set<string>> {
  const written = new Set<string>();
  if (outcomes.length === 0) return written;
  if (store.kind === 'postgres') {
    const { rows } = await runPrepared(tx, storeSuccesses(db), [
      outcomes.map(({ item }) => item.deliveryId),
      outcomes.map(({ item }) => item.token),
      outcomes.map(({ status }) => status),
      outcomes.map(toFirstAttempt),
      now,
    ]);
    for (const row of rows) written.add(row.delivery_id);
    return written;
  }
  // Measured: on SQLite, single updates take 7 to 14 µs less per event than one update from many values.
  for (const outcome of outcomes) {
    const { deliveryId, token } = outcome.item;
    const values = [outcome.status, toFirstAttempt(outcome), now, deliveryId, token];
    const { numAffectedRows } = await runPrepared(tx, storeSuccess(db), values);
    if (numAffectedRows === 1n) written.add(deliveryId);
  }
  return written;
}

const storeSuccess = perDatabase((db) =>
  db
    .updateTable('deliveries')
    .set((e) => ({
      status: sql.lit('succeeded'),
      attempts: e('attempts', '+', sql.lit(1)),
      lease_token: sql`null`,
      last_status: 0,
      last_error: sql`null`,
      first_attempt: e.fn.coalesce(e.val(''), 'first_attempt'),
      updated_at: 0,
    }))
    .where('delivery_id', '=', '')
    .where('lease_token', '=', '')
    .where('status', '=', sql.lit('waiting'))
    .compile(),
);
/** One statement, because an update per row costs a round trip to PostgreSQL each. */
const storeSuccesses = perDatabase((db) =>
  sql<{ delivery_id: string }>`
    update deliveries as d
    set status = 'succeeded', attempts = d.attempts + 1, lease_token = null, last_status = v.status, last_error = null,
      first_attempt = coalesce(v.first_attempt, d.first_attempt), updated_at = $5
    from unnest($1::text[], $2::text[], $3::integer[], $4::text[]) as v (delivery_id, token, status, first_attempt)
    where d.delivery_id = v.delivery_id and d.lease_token = v.token and d.status = 'waiting'
    returning d.delivery_id`.compile(db),
);

function toFirstAttempt(outcome: AttemptOutcome): string | null {
  if (!succeededAtOnce(outcome)) return null;
  const { at, durationMs, status, excerpt } = outcome;
  const first: FirstAttempt = { at, durationMs, status, excerpt };
  return JSON.stringify(first);
}

function toAttempt(outcome: AttemptOutcome): Insertable<Tables['delivery_attempts']> {
  return {
    delivery_id: outcome.item.deliveryId,
    number: outcome.item.attempts + 1,
    at: outcome.at,
    duration_ms: outcome.durationMs,
    status: outcome.status,
    error: outcome.error,
    excerpt: outcome.excerpt,
  };
}

/**
 * Stores the start of each receiver's failures and the end of the pause that it asked for. Disables the subscriptions
 * whose receiver failed for too long or is gone.
 */
async function updateReceivers(
  tx: Tx,
  context: Pick<Base, 'db'>,
  { outcomes, now }: { outcomes: readonly AttemptOutcome[]; now: number },
): Promise<Disabled[]> {
  /** Address that answered, by subscription id. It may be an old one, because a success does not read the current one. */
  const succeeded = new Map<string, string>();
  const failed = new Map<string, AttemptOutcome>();
  const holds = new Map<string, number>();
  for (const outcome of outcomes) {
    const { subscriptionId } = outcome.target;
    if (outcome.holdUntil > (holds.get(subscriptionId) ?? 0)) holds.set(subscriptionId, outcome.holdUntil);
    if (outcome.verdict === 'succeeded') succeeded.set(subscriptionId, outcome.target.address);
    else if (outcome.counts && !failed.get(subscriptionId)?.gone) failed.set(subscriptionId, outcome);
  }
  // Sorted as everywhere, so that two processes never wait for each other's rows.
  const disabled: Disabled[] = [];
  for (const subscriptionId of new Set([...succeeded.keys(), ...failed.keys(), ...holds.keys()].toSorted())) {
    const holdUntil = holds.get(subscriptionId);
    if (holdUntil !== undefined)
      await runPrepared(tx, hold(context.db), [holdUntil, subscriptionId, holdUntil]);
    const address = succeeded.get(subscriptionId);
    if (address !== undefined) {
      await runPrepared(tx, endFailing(context.db), [subscriptionId, address]);
      if (!failed.get(subscriptionId)?.gone) continue;
    }
    const outcome = failed.get(subscriptionId);
    if (!outcome) continue;
    await runPrepared(tx, beginFailing(context.db), [now, subscriptionId]);
    const reason = outcome.gone
      ? 'The receiver answered 410: it is gone for good.'
      : 'Every delivery to the receiver failed for 120 hours.';
    // A 410 disables at once, even if `failing_since` was set by a process whose clock is ahead of ours.
    const until = outcome.gone ? Number.MAX_SAFE_INTEGER : now - GIVE_UP_AFTER_MS;
    const values = [reason, now, subscriptionId, until];
    const { numAffectedRows } = await runPrepared(tx, disableFailing(context.db), values);
    if (numAffectedRows !== 0n) disabled.push({ target: outcome.target, reason });
  }
  return disabled;
}

const beginFailing = perDatabase((db) =>
  db
    .updateTable('subscriptions')
    .set({ failing_since: 0 })
    .where('subscription_id', '=', '')
    .where('failing_since', 'is', null)
    .compile(),
);
const endFailing = perDatabase((db) =>
  db
    .updateTable('subscriptions')
    .set({ failing_since: sql`null` })
    .where('subscription_id', '=', '')
    .where('failing_since', 'is not', null)
    .where('address', '=', '')
    .compile(),
);

const hold = perDatabase((db) =>
  db
    .updateTable('subscriptions')
    .set({ hold_until: 0 })
    .where('subscription_id', '=', '')
    .where((e) => e.or([e('hold_until', 'is', null), e('hold_until', '<', 0)]))
    .compile(),
);

/** Disables an active subscription that fails since a time or longer. cancelWaiting() cancels its deliveries. */
const disableFailing = perDatabase((db) =>
  db
    .updateTable('subscriptions')
    .set({ status: sql.lit('disabled'), reason: '', updated_at: 0 })
    .where('subscription_id', '=', '')
    .where('status', '=', sql.lit('active'))
    .where('failing_since', '<=', 0)
    .compile(),
);
