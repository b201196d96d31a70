import type { JobKind } from '../runtime/jobs.ts';
import type { Context } from './context.ts';
import { DAY } from '../lib/clock.ts';
import { inBatches, inSteps } from '../store/batches.ts';
import { findSourceModel } from '../connectors/source-model.ts';
import { sourceScope } from '../connectors/event-scopes.ts';

/** Retention of processed webhooks. A webhook that the app repeats after this time counts as new. */
const INBOX_KEPT_MS = 7 * DAY;
/**
 * Retention of the keys of observed records. It is far longer than any overlap, reconcile or retry of an app.
 */
const SEEN_KEPT_MS = 30 * DAY;
const EVERY_MS = DAY / 4;

/**
 * Prunes old webhooks and keys of records, which only serve to recognise known events. One such job serves
 * all processes.
 */
export function pruneJob(context: Context): JobKind {
  return {
    attempts: 1_000_000,
    async run(_payload, signal) {
      await pruneOldWebhooks(context, signal);
      await pruneOldKeys(context, signal);
      return EVERY_MS;
    },
    gaveUp: async () => EVERY_MS,
  };
}

async function pruneOldWebhooks({ db, clock }: Context, signal: AbortSignal): Promise<void> {
  const before = clock.now() - INBOX_KEPT_MS;
  await inBatches(
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
 * Prunes the keys of sources whose polls have a lower bound and whose records have a creation time. A list
 * without a bound shows old records in each poll, which would then count as new. The keys of inventories
 * (`p:`) stay.
 */
async function pruneOldKeys(context: Context, signal: AbortSignal): Promise<void> {
  const { db, clock, catalog } = context;
  const groups = await db
    .selectFrom('sources')
    .select(['environment', 'connector_id', 'scope'])
    .distinct()
    .execute();
  for (const { environment, connector_id: connectorId, scope } of groups) {
    const connector = catalog.connector(environment, connectorId);
    const model = connector && findSourceModel(connector, sourceScope.parse(scope));
    if (!model) continue;
    const { poll, createdAt } = model;
    const isBounded = poll.since !== undefined || poll.order === 'descending';
    if (!isBounded || createdAt === undefined) continue;
    // Each step starts where the last one ended, so the rows that stay are read once.
    let from = 0;
    const pruneSome = async (limit: number) => {
      const old = await db
        .selectFrom('seen')
        .innerJoin('sources', 'sources.source_id', 'seen.source_id')
        .select(['seen.source_id', 'seen.key', 'seen.seen_at'])
        .where('sources.environment', '=', environment)
        .where('sources.connector_id', '=', connectorId)
        .where('sources.scope', '=', scope)
        .where('seen.seen_at', '>=', from)
        .where('seen.seen_at', '<', clock.now() - SEEN_KEPT_MS)
        // A source that was suspended for long keeps the keys around its cursor, because it continues there.
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
    await inSteps(pruneSome, signal);
    if (signal.aborted) return;
  }
}
