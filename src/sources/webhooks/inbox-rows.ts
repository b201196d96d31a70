import { sql, type Selectable } from 'kysely';
import { DAY, MINUTE, SECOND } from '../../lib/clock.ts';
import { publicError } from '../../lib/errors.ts';
import { updateInBatches } from '../../store/batches.ts';
import type { Tables } from '../../store/schema.ts';
import { tellGapRiskIn } from '../../outbox/operator-events.ts';
import type { PollContext } from '../polling/poll.ts';
import type { Source } from '../source.ts';

/** A webhook as it arrived. */
export type Row = Selectable<Tables['inbox']>;

/** Few at a time: what a fetch takes is written when the batch is done. */
const BATCH = 50;
/** Of their bodies together: parsed, one takes up to a dozen times as much memory, and many sources have a batch at once. */
export const BATCH_BYTES = 256 * 1024;
const MAX_ATTEMPTS = 12;
const SHORTEST_RETRY_MS = 5 * SECOND;
const LONGEST_RETRY_MS = 30 * MINUTE;
/** An app that still fails with a record that is so old is not out: it does not give that one. */
const LONGEST_OUTAGE_MS = 7 * DAY;
/** How long webhooks wait while the app is out, its account has to be connected anew, or its connector is not there. */
export const REST_MS = MINUTE;

/** Some webhooks that are due, not read yet, and the length of their bodies together. */
export interface Due {
  ids: string[];
  bytes: number;
}

/**
 * Oldest first, and those that failed before after all others: an app that fails for a few records holds up no more.
 * As many as BATCH and BATCH_BYTES allow; one that is longer by itself comes alone.
 */
export async function nextDue({ db, clock }: PollContext, sourceId: string): Promise<Due> {
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

/** What is due, read, in its order. */
export async function readDue({ db }: PollContext, { ids }: Due): Promise<Row[]> {
  const rows = await db
    .selectFrom('inbox')
    .selectAll()
    .where('inbox_id', 'in', ids)
    .where('processed_at', 'is', null)
    .execute();
  return rows.toSorted((one, other) => ids.indexOf(one.inbox_id) - ids.indexOf(other.inbox_id));
}

/** Webhooks of a source, or those of these topics, wait, unread and without an attempt of theirs. */
export async function putOff(
  { db, store }: PollContext,
  sourceId: string,
  { until, topics }: { until: number; topics?: readonly string[] },
): Promise<void> {
  if (topics?.length === 0) return;
  await updateInBatches((limit) =>
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
          // What another process is writing is done by then, or comes again.
          .$if(store.kind === 'postgres', (query) => query.forUpdate().skipLocked()),
      )
      .executeTakeFirst(),
  );
}

/** Why a webhook could not be understood; `isOut`: its app did not answer, which is no attempt for a week. */
interface Failure {
  error: unknown;
  isOut: boolean;
}

/** A webhook waits longer with each failure, until it is given up. */
export async function postpone(
  context: PollContext,
  source: Source,
  row: Row,
  { error: thrown, isOut }: Failure,
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
    context.log.error(
      facts,
      'a webhook was given up: what it told of is missing unless the app sends it again',
    );
    return giveUp(context, source, row, { attempts, reason });
  }
  context.log.warn(facts, 'a webhook waits');
  const wishedMs = isOut ? age : SHORTEST_RETRY_MS * 3 ** Math.min(attempts - 1, 8);
  await context.db
    .updateTable('inbox')
    .set({
      attempts,
      next_at: now + Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_RETRY_MS, wishedMs)),
      error: reason,
    })
    .where('inbox_id', '=', row.inbox_id)
    .where('processed_at', 'is', null)
    .execute();
}

/** Ends a webhook that nobody could understand: the operator hears of it, and its key is free for the app to send it again. */
async function giveUp(
  context: PollContext,
  source: Source,
  row: Row,
  { attempts, reason }: { attempts: number; reason: string },
): Promise<void> {
  await context.db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('inbox')
      .set({ attempts, processed_at: context.clock.now(), error: reason, dedupe_key: row.inbox_id })
      .where('inbox_id', '=', row.inbox_id)
      .where('processed_at', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return;
    await tellGapRiskIn(tx, context, source, `A webhook was given up: ${reason}`);
  });
  context.deliverer.wake();
}
