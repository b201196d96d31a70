import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExpressionBuilder } from 'kysely';
import type { Base } from '../base.ts';
import { DAY } from '../lib/clock.ts';
import { inBatches, inSteps } from '../store/batches.ts';
import type { Db, Tables } from '../store/schema.ts';

/** How long events, their deliveries and attempts are stored. Dead letters can be replayed during that time. */
const EVENTS_KEPT_MS = 30 * DAY;

/** Deletes events that are older than 30 days or whose source is gone, unless one of their deliveries waits. */
export async function deleteOldEvents({ db, clock }: Pick<Base, 'db' | 'clock'>): Promise<void> {
  const now = clock.now();
  const before = now - EVENTS_KEPT_MS;
  // Events of the environment itself have no source.
  await deleteEventsOf(db, null, before);
  for (let sourceId = ''; ;) {
    const oldest = await oldestAfter(db, sourceId);
    if (!oldest?.source_id) break;
    sourceId = oldest.source_id;
    // Events of a deleted source are deleted at any age, because the account may be gone too.
    const until = oldest.known === null ? now : before;
    if (oldest.created_at < until) await deleteEventsOf(db, sourceId, until);
    await nextTurn();
  }
}

/**
 * Returns the next source that has events, with the time of its oldest event. `known` is null when the source itself is
 * deleted.
 */
function oldestAfter(db: Db, sourceId: string) {
  return db
    .selectFrom('events')
    .leftJoin('sources', 'sources.source_id', 'events.source_id')
    .select(['events.source_id', 'events.created_at', 'sources.source_id as known'])
    .where('events.source_id', '>', sourceId)
    .orderBy('events.source_id')
    .orderBy('events.created_at')
    .limit(1)
    .executeTakeFirst();
}

async function deleteEventsOf(db: Db, sourceId: string | null, before: number): Promise<void> {
  await inSteps(async (limit) => {
    const old = await db
      .selectFrom('events')
      .select('event_id')
      .where('source_id', sourceId === null ? 'is' : '=', sourceId)
      .where('created_at', '<', before)
      .where(noDeliveryWaits)
      .orderBy('created_at')
      .limit(limit)
      .execute();
    if (old.length === 0) return 0;
    const ids = old.map((row) => row.event_id);
    await deleteDeliveries(db, ids);
    // A delivery that was replayed since the query stays, and so does its event.
    await db.deleteFrom('events').where('event_id', 'in', ids).where(noDeliveryWaits).execute();
    return old.length;
  });
}

/** Deletes deliveries in steps of their own: with 200 subscriptions to a source, 500 events have 100,000 deliveries. */
async function deleteDeliveries(db: Db, eventIds: string[]): Promise<void> {
  await inBatches((limit) =>
    db
      .deleteFrom('deliveries')
      .where('delivery_id', 'in', (some) =>
        some
          .selectFrom('deliveries')
          .select('delivery_id')
          .where('event_id', 'in', eventIds)
          .where('status', '!=', 'waiting')
          .limit(limit),
      )
      .executeTakeFirst(),
  );
}

/** Matches events without a waiting delivery. */
function noDeliveryWaits(e: ExpressionBuilder<Tables, 'events'>) {
  return e.not(
    e.exists(
      e
        .selectFrom('deliveries')
        .select('delivery_id')
        .whereRef('deliveries.event_id', '=', 'events.event_id')
        .where('deliveries.status', '=', 'waiting'),
    ),
  );
}
