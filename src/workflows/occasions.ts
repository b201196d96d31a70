import { sql } from 'kysely';
import type { Base } from '../base.ts';
import type { EventSource, NewEvent } from '../outbox/event.ts';
import { isoTime } from '../lib/clock.ts';
import { perDatabase, runPrepared } from '../store/prepared.ts';
import type { Tx } from '../store/schema.ts';
import { beginRun } from './begin.ts';
import { chainOfEvent } from './chains.ts';
import { firingAfter } from './schedule.ts';

/** Starts runs without a caller: by events of sources and by schedules. */

const listening = perDatabase((db) =>
  db
    .selectFrom('workflow_installations')
    .innerJoin('users', 'users.user_id', 'workflow_installations.user_id')
    .innerJoin('sources', 'sources.source_id', 'workflow_installations.source_id')
    .selectAll('workflow_installations')
    .select('sources.connector_id')
    .where('workflow_installations.source_id', '=', '')
    .where('workflow_installations.enabled', '=', sql.lit(1))
    .where('users.enabled', '=', sql.lit(1))
    .compile(),
);

/**
 * Queues runs of the installations that listen to a source, in the transaction that publishes. Disabled users get
 * none.
 * @returns the number of queued runs.
 */
export async function runsOfEvents(
  tx: Tx,
  context: Pick<Base, 'clock' | 'keys' | 'db'>,
  { source, events }: { source: EventSource; events: readonly NewEvent[] },
): Promise<number> {
  const { rows } = await runPrepared(tx, listening(context.db), [source.sourceId]);
  const [first] = rows;
  if (!first) return 0;
  const { user_id: userId, connector_id: connectorId } = first;
  const chains = new Map<NewEvent, number>();
  for (const event of events) {
    const record = { userId, connectorId, remoteId: event.body['remoteId'], before: context.clock.now() };
    chains.set(event, await chainOfEvent(tx, context, record));
  }
  let made = 0;
  for (const { connector_id: _connector, ...row } of rows) {
    const wanted: unknown = JSON.parse(row.events ?? '[]');
    for (const one of events) {
      const { eventScope, event, body } = one;
      if (!Array.isArray(wanted) || !wanted.includes(event)) continue;
      await beginRun(tx, context, {
        installation: row,
        occasion: {
          trigger: { type: 'event', scope: eventScope, event, data: body },
          caller: 'event',
          chain: chains.get(one),
          requestId: source.sourceId,
        },
      });
      made += 1;
    }
  }
  return made;
}

/** Limit of installations that fire in one turn. */
const MOST_AT_ONCE = 100;

/**
 * Queues runs of due schedules. Times missed during downtime run once, and the schedule continues from now. A
 * disabled user's schedule continues without runs.
 * @returns the number of queued runs.
 */
export async function fireSchedules(context: Pick<Base, 'db' | 'clock' | 'keys'>): Promise<number> {
  const { db, clock } = context;
  const now = clock.now();
  const due = await db
    .selectFrom('workflow_installations')
    .innerJoin('users', 'users.user_id', 'workflow_installations.user_id')
    .selectAll('workflow_installations')
    .select('users.enabled as user_enabled')
    .where('fire_at', '<=', now)
    .where('workflow_installations.enabled', '=', 1)
    .orderBy('fire_at')
    .limit(MOST_AT_ONCE)
    .execute();
  let made = 0;
  for (const { user_enabled: userEnabled, ...row } of due) {
    const at = row.fire_at ?? now;
    const run = await db.transaction().execute(async (tx) => {
      const { numUpdatedRows } = await tx
        .updateTable('workflow_installations')
        .set({ fire_at: firingAfter(row.schedule, now), updated_at: now })
        .where('installation_id', '=', row.installation_id)
        .where('enabled', '=', 1)
        .where('fire_at', '=', at)
        .where('version', '=', row.version)
        .executeTakeFirst();
      if (numUpdatedRows === 0n || userEnabled !== 1) return undefined;
      return beginRun(tx, context, {
        installation: row,
        occasion: {
          trigger: { type: 'schedule', scheduledAt: isoTime(at) },
          caller: 'schedule',
          requestId: row.installation_id,
          dedupe: `schedule ${at}`,
        },
      });
    });
    if (run?.isNew) made += 1;
  }
  return made;
}
