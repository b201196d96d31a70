import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { perDatabase, runPrepared } from '../store/prepared.ts';
import type { Db, Tx } from '../store/schema.ts';
import type { DeliveryTarget } from './delivery-target.ts';

/* Finds due deliveries. */

/** Deliveries that wait for their time. Values are literals, so that the planner matches the partial index. */
export const WAITS = sql<boolean>`deliveries.status = 'waiting' and deliveries.offered = 0`;
/** Deliveries that publish() handed off to the dispatcher of its own process. */
export const IS_HANDED_OFF = sql<boolean>`deliveries.status = 'waiting' and deliveries.offered = 1`;
/** Order in which PostgreSQL locks subscription rows: that of JavaScript strings, whatever the database's collation. */
export const SUBSCRIPTION_ORDER = sql<string>`subscriptions.subscription_id collate "C"`;
/** Expired handoffs that one statement ends. */
const MAX_ENDED = 1000;

const anythingDue = perDatabase((db) =>
  db
    .selectFrom('deliveries')
    .select('delivery_id')
    .where(WAITS)
    .where('next_at', '<=', 0)
    .orderBy('next_at')
    .limit(sql.lit(1))
    .compile(),
);
const anyExpiredHandoff = perDatabase((db) =>
  db
    .selectFrom('deliveries')
    // Only indexed columns, so that the query reads no table row.
    .select('sequence')
    .where(IS_HANDED_OFF)
    .where('next_at', '<=', 0)
    .limit(sql.lit(1))
    .compile(),
);

const subscriptionsDue = perDatabase((db) =>
  db
    .selectFrom('subscriptions')
    .select('subscription_id')
    .where('status', '=', sql.lit('active'))
    .where('kind', '!=', sql.lit('listener'))
    .where((e) =>
      e.exists(
        e
          .selectFrom('deliveries')
          .select('delivery_id')
          .whereRef('deliveries.subscription_id', '=', 'subscriptions.subscription_id')
          .where(WAITS)
          .where('deliveries.next_at', '<=', 0),
      ),
    )
    .compile(),
);

/** Returns the subscriptions with due deliveries. Costs two index look-ups when none is due. */
export async function dueSubscriptions(context: Pick<Base, 'db' | 'clock' | 'store'>): Promise<string[]> {
  const { db, clock } = context;
  const now = clock.now();
  const { rows: expired } = await runPrepared(db, anyExpiredHandoff(db), [now]);
  if (expired.length > 0) await endHandoffs(context, now);
  const { rows: first } = await runPrepared(db, anythingDue(db), [now]);
  if (first.length === 0) return [];
  const { rows } = await runPrepared(db, subscriptionsDue(db), [now]);
  return rows.map((row) => row.subscription_id);
}

/** Ends handoffs whose lease expired, because their process stopped. They wait like all other deliveries from then on. */
async function endHandoffs({ db, store }: Pick<Base, 'db' | 'store'>, now: number): Promise<void> {
  let expired = db
    .selectFrom('deliveries')
    .select('delivery_id')
    .where(IS_HANDED_OFF)
    .where('next_at', '<=', now)
    .orderBy('subscription_id')
    .orderBy('sequence')
    .limit(MAX_ENDED);
  if (store.kind === 'postgres') expired = expired.forUpdate().skipLocked();
  for (;;) {
    const { numUpdatedRows } = await db
      .updateTable('deliveries')
      .set({ offered: 0 })
      .where('delivery_id', 'in', expired)
      .executeTakeFirst();
    if (numUpdatedRows < MAX_ENDED) return;
  }
}

/** Returns the ids of due deliveries of a subscription, in its order. */
export async function dueIds(
  tx: Tx,
  { db, store }: Pick<Base, 'db' | 'store'>,
  {
    target: { subscriptionId, ordered },
    limit,
    now,
  }: { target: Pick<DeliveryTarget, 'subscriptionId' | 'ordered'>; limit: number; now: number },
): Promise<string[]> {
  if (ordered) {
    // A delivery handed off before `ordered` was set goes first.
    const handedOff = await tx
      .selectFrom('deliveries')
      .select('delivery_id')
      .where('subscription_id', '=', subscriptionId)
      .where(IS_HANDED_OFF)
      .limit(1)
      .executeTakeFirst();
    if (handedOff) return [];
    const rows = await tx
      .selectFrom('deliveries')
      .select(['delivery_id', 'next_at'])
      .where('subscription_id', '=', subscriptionId)
      .where(WAITS)
      .orderBy('sequence')
      .limit(limit)
      .execute();
    // Head-of-line blocking: deliveries after one that is not due, or is leased, must wait.
    const blocked = rows.findIndex((row) => row.next_at > now);
    const ids = rows.slice(0, blocked === -1 ? rows.length : blocked).map((row) => row.delivery_id);
    return store.kind === 'postgres' ? beforeFirstLocked(tx, ids, now) : ids;
  }
  const due = store.kind === 'postgres' ? dueUnlocked(db) : dueFirst(db);
  const { rows } = await runPrepared(tx, due, [subscriptionId, now, limit]);
  return rows.map((row) => row.delivery_id);
}

/**
 * Returns the ids before the first locked row. Waiting for that lock could deadlock, because its holder may need the
 * subscription row that we hold.
 */
async function beforeFirstLocked(tx: Tx, ids: readonly string[], now: number): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await tx
    .selectFrom('deliveries')
    .select('delivery_id')
    .where('delivery_id', 'in', ids)
    .where(WAITS)
    .where('next_at', '<=', now)
    .forUpdate()
    .skipLocked()
    .execute();
  const unlocked = new Set(rows.map((row) => row.delivery_id));
  const first = ids.findIndex((id) => !unlocked.has(id));
  return ids.slice(0, first === -1 ? ids.length : first);
}

const selectDue = (db: Db) =>
  db
    .selectFrom('deliveries')
    .select('delivery_id')
    .where('subscription_id', '=', '')
    .where(WAITS)
    .where('next_at', '<=', 0)
    .orderBy('next_at')
    .limit(0);
const dueFirst = perDatabase((db) => selectDue(db).compile());
const dueUnlocked = perDatabase((db) => selectDue(db).forUpdate().skipLocked().compile());
