import { sql, type Selectable } from 'kysely';
import type { Context } from '../context.ts';
import { DAY, MINUTE, SECOND } from '../../lib/clock.ts';
import { publicError } from '../../lib/errors.ts';
import { inBatches } from '../../store/batches.ts';
import type { Tables } from '../../store/schema.ts';
import { reportGapRiskIn } from '../../outbox/operator-events.ts';
import type { Source } from '../source.ts';

/** A webhook as it arrived. */
export type Row = Selectable<Tables['inbox']>;

/** Webhooks of one batch. It is small, because the results of fetches are written when the batch is done. */
const BATCH = 50;
/**
 * Limit of their bodies together. A parsed body takes up to a dozen times as much memory, and many sources
 * have a batch at once.
 */
export const BATCH_BYTES = 256 * 1024;
const MAX_ATTEMPTS = 12;
const SHORTEST_RETRY_MS = 5 * SECOND;
const LONGEST_RETRY_MS = 30 * MINUTE;
/** Age of a webhook from which a failure counts as its own, and no longer as an outage of its app. */
const LONGEST_OUTAGE_MS = 7 * DAY;
/** Wait of webhooks while the app is down, its account must be reconnected, or its connector is missing. */
export const PAUSE_MS = MINUTE;

/** Ids of due webhooks, and the total length of their bodies. */
export interface Due {
  ids: string[];
  bytes: number;
}

/**
 * Returns due webhooks up to BATCH and BATCH_BYTES, oldest first. A webhook longer than BATCH_BYTES comes
 * alone. Webhooks that failed before come last, so that a few bad records do not delay the others.
 */
export async function nextDue({ db, clock }: Context, sourceId: string): Promise<Due> {
  for (const failed of ['is', 'is not'] as const) {
    const rows = await db
      .selectFrom('inbox')
      .select(['inbox_id', sql<number>`octet_length(body)`.as('bytes')])
      .where('source_id', '=', sourceId)
      .where('processed_at', 'is', null)
      .where('next_at', '<=', clock.now())
      .where('error', failed, null)
      .orderBy('received_at')
      .limit(BATCH)
      .execute();
    if (rows.length > 0) return fitting(rows);
  }
  return { ids: [], bytes: 0 };
}

function fitting(rows: readonly { inbox_id: string; bytes: number }[]): Due {
  const due: Due = { ids: [], bytes: 0 };
  for (const { inbox_id: inboxId, bytes } of rows) {
    if (due.ids.length > 0 && due.bytes + bytes > BATCH_BYTES) break;
    due.ids.push(inboxId);
    due.bytes += bytes;
  }
  return due;
}

/** Reads due webhooks, in their order. */
export async function readDue({ db }: Context, { ids }: Due): Promise<Row[]> {
  const rows = await db
    .selectFrom('inbox')
    .selectAll()
    .where('inbox_id', 'in', ids)
    .where('processed_at', 'is', null)
    .execute();
  return rows.toSorted((one, other) => ids.indexOf(one.inbox_id) - ids.indexOf(other.inbox_id));
}

/**
 * Postpones the webhooks of a source, or of some of its topics, without reading them and without counting an
 * attempt.
 */
export async function defer(
  { db, store }: Context,
  sourceId: string,
  { until, topics }: { until: number; topics?: readonly string[] },
): Promise<void> {
  if (topics?.length === 0) return;
  await inBatches((limit) =>
    db
      .updateTable('inbox')
      .set({ next_at: until })
      .where('inbox_id', 'in', (some) =>
        some
          .selectFrom('inbox')
          .select('inbox_id')
          .where('source_id', '=', sourceId)
          .where('processed_at', 'is', null)
          .where('next_at', '<', until)
          .$if(topics !== undefined, (query) => query.where('topic', 'in', topics ?? []))
          .limit(limit)
          // Another process may finish a row that it locks. Otherwise the next query finds the row.
          .$if(store.kind === 'postgres', (query) => query.forUpdate().skipLocked()),
      )
      .executeTakeFirst(),
  );
}

/** Failure to interpret a webhook. `isOut`: its app is down, which counts as an attempt only after a week. */
interface Failure {
  row: Row;
  error: unknown;
  isOut: boolean;
}

/** Postpones a webhook, longer with each failure, until it is given up. */
export async function postpone(
  context: Context,
  source: Source,
  { row, error: thrown, isOut }: Failure,
): Promise<void> {
  const error = publicError(thrown);
  const now = context.clock.now();
  const age = now - row.received_at;
  const attempts = row.attempts + (isOut && age < LONGEST_OUTAGE_MS ? 0 : 1);
  const facts = {
    inboxId: row.inbox_id,
    sourceId: row.source_id,
    attempts,
    ...(error.code === 'internal' ? { err: thrown } : { code: error.code }),
  };
  const reason = error.message.slice(0, 500);
  if (attempts >= MAX_ATTEMPTS) {
    context.log.error(facts, 'webhook given up, its events are missing unless the app sends it again');
    return giveUp(context, source, { row, attempts, reason });
  }
  context.log.warn(facts, 'webhook postponed');
  const waitMs = isOut ? age : SHORTEST_RETRY_MS * 3 ** Math.min(attempts - 1, 8);
  await context.db
    .updateTable('inbox')
    .set({
      attempts,
      next_at: now + Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_RETRY_MS, waitMs)),
      error: reason,
    })
    .where('inbox_id', '=', row.inbox_id)
    .where('processed_at', 'is', null)
    .execute();
}

/** Gives up a webhook and notifies the operator. Its key becomes free, so that the app can send it again. */
async function giveUp(
  context: Context,
  source: Source,
  { row, attempts, reason }: { row: Row; attempts: number; reason: string },
): Promise<void> {
  await context.db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('inbox')
      .set({ attempts, processed_at: context.clock.now(), error: reason, dedupe_key: row.inbox_id })
      .where('inbox_id', '=', row.inbox_id)
      .where('processed_at', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return;
    await reportGapRiskIn(tx, context, { source, reason: `A webhook was given up: ${reason}` });
  });
  context.dispatcher.wake();
}
