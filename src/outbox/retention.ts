import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExpressionBuilder } from 'kysely';
import type { Context } from '../context.ts';
import { DAY } from '../lib/clock.ts';
import { deleteInBatches, inSteps } from '../store/batches.ts';
import type { Db, Tables } from '../store/schema.ts';

/** How long events, their deliveries and attempts are kept: dead letters can be sent again for as long. */
const EVENTS_KEPT_MS = 30 * DAY;

/** Deletes events that had their time or whose source is gone, unless a delivery still waits. */
export async function deleteOldEvents({ db, clock }: Pick<Context, 'db' | 'clock'>): Promise<void> {
  const now = clock.now();
  const before = now - EVENTS_KEPT_MS;
  // The environment's own events have no source.
  await deleteEventsOf(db, null, before);
  for (let sourceId = ''; ;) {
    const oldest = await oldestAfter(db, sourceId);
    if (!oldest?.source_id) break;
    sourceId = oldest.source_id;
    // Of a source that is gone, its account too perhaps, nothing is kept.
    const until = oldest.known === null ? now : before;
    if (oldest.created_at < until) await deleteEventsOf(db, sourceId, until);
    await nextTurn();
  }
}

/** The next source that has events, when its oldest is from, and whether the source itself is still there (`known`). */
async function oldestAfter(
  db: Db,
  sourceId: string,
): Promise<{ source_id: string | null; created_at: number; known: string | null } | undefined> {
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
      .where(nobodyWaits)
      .orderBy('created_at')
      .limit(limit)
      .execute();
    if (old.length === 0) return 0;
    const ids = old.map((row) => row.event_id);
    await forgetDeliveries(db, ids);
    // One that was sent again meanwhile stays, and so does its event.
    await db.deleteFrom('events').where('event_id', 'in', ids).where(nobodyWaits).execute();
    return old.length;
  });
}

/** In steps of their own: 200 subscriptions to one source have 100,000 deliveries of 500 events. */
async function forgetDeliveries(db: Db, eventIds: string[]): Promise<void> {
  await deleteInBatches((limit) =>
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

/** Whether no delivery of an event waits. */
function nobodyWaits(e: ExpressionBuilder<Tables, 'events'>) {
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
