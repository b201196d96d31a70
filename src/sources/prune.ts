import type { JobKind } from '../jobs/jobs.ts';
import { DAY } from '../lib/clock.ts';
import { deleteInBatches, inSteps } from '../store/batches.ts';
import { modelOf } from '../unified/map.ts';
import type { PollContext } from './polling/poll.ts';
import { eventScope } from '../connectors/events-format.ts';

/** Webhooks that were understood: an app that sends one again after this is taken at its word. */
const INBOX_KEPT_MS = 7 * DAY;
/** Far longer than any overlap, reconcile or retry of an app reaches back. */
const SEEN_KEPT_MS = 30 * DAY;
const EVERY_MS = DAY / 4;

/** Drops what only served to tell events apart. There is one such job for all processes. */
export function forgetJob(context: PollContext): JobKind {
  return {
    attempts: 1_000_000,
    async run(_payload, signal) {
      await forgetInbox(context, signal);
      await forgetSeen(context, signal);
      return EVERY_MS;
    },
    gaveUp: async () => EVERY_MS,
  };
}

async function forgetInbox({ db, clock }: PollContext, signal: AbortSignal): Promise<void> {
  const before = clock.now() - INBOX_KEPT_MS;
  await deleteInBatches(
    (limit) =>
      db
        .deleteFrom('inbox')
        .where('inbox_id', 'in', (old) =>
          old.selectFrom('inbox').select('inbox_id').where('processed_at', '<', before).limit(limit),
        )
        .executeTakeFirst(),
    signal,
  );
}

/**
 * Only where a poll has a lower bound and records tell when they were created: a list that is read whole shows old
 * records each time, and they would be taken for new ones. What an inventory found (`p:`) stays.
 */
async function forgetSeen(context: PollContext, signal: AbortSignal): Promise<void> {
  const { db, clock, catalog } = context;
  const groups = await db
    .selectFrom('sources')
    .select(['environment', 'connector_id', 'scope'])
    .distinct()
    .execute();
  for (const { environment, connector_id: connectorId, scope } of groups) {
    const connector = catalog.connector(environment, connectorId);
    if (!connector?.definition.unified[eventScope.parse(scope)]) continue;
    const { poll, createdAt } = modelOf(connector, eventScope.parse(scope));
    const isBounded = poll.since !== undefined || poll.order === 'descending';
    if (!isBounded || createdAt === undefined) continue;
    // Rows that stay are passed once, not once a step.
    let from = 0;
    const forgetSome = async (limit: number) => {
      const old = await db
        .selectFrom('seen')
        .innerJoin('sources', 'sources.source_id', 'seen.source_id')
        .select(['seen.source_id', 'seen.key', 'seen.seen_at'])
        .where('sources.environment', '=', environment)
        .where('sources.connector_id', '=', connectorId)
        .where('sources.scope', '=', scope)
        .where('seen.seen_at', '>=', from)
        .where('seen.seen_at', '<', clock.now() - SEEN_KEPT_MS)
        // One that was suspended for long goes on from where it was.
        .where((e) =>
          e.or([
            e('sources.cursor_until', 'is', null),
            e('seen.seen_at', '<', e('sources.cursor_until', '-', SEEN_KEPT_MS)),
          ]),
        )
        .where('seen.key', 'not like', 'p:%')
        .orderBy('seen.seen_at')
        .limit(limit)
        .execute();
      from = old.at(-1)?.seen_at ?? from;
      await db.transaction().execute(async (tx) => {
        for (const { source_id: sourceId, key } of old)
          await tx.deleteFrom('seen').where('source_id', '=', sourceId).where('key', '=', key).execute();
      });
      return old.length;
    };
    await inSteps(forgetSome, signal);
    if (signal.aborted) return;
  }
}
