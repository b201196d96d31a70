import { setImmediate as nextTurn } from 'node:timers/promises';
import { MINUTE, SECOND } from '../../lib/clock.ts';
import { GatehouseError, type ErrorCode } from '../../lib/errors.ts';
import { parseJson, type Json } from '../../lib/json.ts';
import type { Tx } from '../../store/schema.ts';
import { customFieldsOf } from '../../unified/field-mappings.ts';
import { lockSameSource } from '../consumers.ts';
import type { Context, SourceTurn } from '../context.ts';
import { topicsToRead } from './hook-events.ts';
import {
  BATCH_BYTES,
  nextDue,
  postpone,
  defer,
  readDue,
  PAUSE_MS,
  type Due,
  type Row,
} from './inbox-rows.ts';
import { fetchRecord, isConnected } from '../polling/remote-record.ts';
import { toSource, type Source } from '../source.ts';
import {
  interpret,
  publishInterpretations,
  interpretRecord,
  type Interpretation,
  type Sender,
} from './interpretation.ts';

const OUTAGES = new Set<ErrorCode>([
  'credential_invalid',
  'upstream_failed',
  'upstream_rate_limited',
  'upstream_timeout',
]);

/** Some apps show a record only a moment after its webhook. A missing record is read again for this long. */
const SHOWN_WITHIN_MS = 2 * MINUTE;
/** The first wait before such a read; later waits are three times the age of the webhook. */
const ASKED_AGAIN_MS = 10 * SECOND;

/**
 * Reads of records by one source, one after the other until the app fails. A source whose app hangs would
 * otherwise hold its slot for hours.
 */
interface Reading {
  sourceId: string;
  signal: AbortSignal;
  pausedUntil: number;
  /** The last failure of the app. */
  outage?: unknown;
}

/**
 * Creates the round that turns stored webhooks into events. Each source is processed separately and in order. A slow
 * app, or a webhook that the store refuses, therefore delays no other source.
 */
export function createInboxTurn(): SourceTurn {
  /** Sources whose webhooks this process interprets; `again` is true when more arrived since. */
  const busy = new Map<string, { again: boolean }>();
  /** Last of the long webhooks of all sources. They are read one after the other to bound memory. */
  let lastLong: Promise<unknown> = Promise.resolve();

  const afterOtherLong = (work: () => Promise<boolean>): Promise<boolean> => {
    const mine = lastLong.then(work);
    lastLong = mine.catch(() => {});
    return mine;
  };

  /** Processes some due webhooks of a source. Returns false when there were none. */
  const processSome = async (context: Context, reading: Reading): Promise<boolean> => {
    const due = await nextDue(context, reading.sourceId);
    if (due.ids.length === 0) return false;
    const work = () => interpretBatch(context, due, reading);
    return due.bytes > BATCH_BYTES ? afterOtherLong(work) : work();
  };

  const processAll = async (context: Context, sourceId: string, signal: AbortSignal): Promise<void> => {
    const state = { again: false };
    const reading: Reading = { sourceId, signal, pausedUntil: 0 };
    busy.set(sourceId, state);
    try {
      do state.again = false;
      while (((await processSome(context, reading)) || state.again) && !signal.aborted);
    } finally {
      busy.delete(sourceId);
    }
  };

  return async (context, { signal, freeSlots }) => {
    const due = await sourcesDue(context, freeSlots + busy.size);
    const idle: string[] = [];
    for (const sourceId of due) {
      const state = busy.get(sourceId);
      if (state) state.again = true;
      else idle.push(sourceId);
    }
    return idle.slice(0, freeSlots).map((sourceId) => processAll(context, sourceId, signal));
  };
}

/** Returns sources with due webhooks. */
async function sourcesDue({ db, clock }: Context, limit: number): Promise<string[]> {
  const due = await db
    .selectFrom('inbox')
    .select('source_id')
    .distinct()
    // The condition is literal, so that the database uses the partial index.
    .where('processed_at', 'is', null)
    .where('next_at', '<=', clock.now())
    .limit(limit)
    .execute();
  return due.map((row) => row.source_id);
}

/**
 * Interprets due webhooks and publishes their events. Returns false when their source is deleted, which
 * deletes them as well.
 */
async function interpretBatch(context: Context, due: Due, reading: Reading): Promise<boolean> {
  const { sourceId } = reading;
  const found = await context.db
    .selectFrom('sources')
    .selectAll()
    .where('source_id', '=', sourceId)
    .executeTakeFirst();
  if (!found) return false;
  const source = toSource(found);
  const connector = context.catalog.connector(source.environment, source.connectorId);
  if (!connector || source.isPruning) {
    // The connector file may return soon, and polls wait for it as well. Webhooks that were stored during an
    // account switch are pruned with the other rows (account-switch-job.ts).
    await defer(context, sourceId, { until: context.clock.now() + PAUSE_MS });
    return true;
  }
  const rows = await readDue(context, due);
  const sender = { source, connector, fields: await customFieldsOf(context, source) };
  const interpretations = new Map<Row, Interpretation>();
  for (const row of rows) {
    if (reading.signal.aborted) break;
    try {
      const interpretation = await interpretRow(context, sender, { row, reading });
      if (interpretation) interpretations.set(row, interpretation);
    } catch (error) {
      if (!reading.signal.aborted)
        await postpone(context, source, { row, error, isOut: error === reading.outage });
    }
  }
  await postponeReads(context, sender, reading);
  const deliveries = await commitAll(context, source, interpretations);
  if (deliveries > 0) context.dispatcher.wake();
  // SQLite is synchronous, and there may be thousands of webhooks.
  await nextTurn();
  return true;
}

/**
 * Postpones all webhooks that name a record while the app cannot be read. One statement does it, because
 * there may be thousands.
 */
async function postponeReads(
  context: Context,
  { source, connector }: Sender,
  { pausedUntil }: Reading,
): Promise<void> {
  if (pausedUntil <= context.clock.now()) return;
  const { webhooks } = connector.definition;
  const topics = webhooks ? topicsToRead(webhooks, source.scope) : [];
  await defer(context, source.sourceId, { until: pausedUntil, topics });
}

/**
 * Commits all webhooks in one transaction. When the store refuses that, it commits each in its own, and
 * postpones those that the store refuses again.
 */
async function commitAll(
  context: Context,
  source: Source,
  interpretations: ReadonlyMap<Row, Interpretation>,
): Promise<number> {
  try {
    return await commit(context, source, interpretations);
  } catch (error) {
    if (interpretations.size === 1)
      for (const row of interpretations.keys()) await postpone(context, source, { row, error, isOut: false });
    if (interpretations.size < 2) return 0;
    let deliveries = 0;
    for (const one of interpretations) deliveries += await commitAll(context, source, new Map([one]));
    return deliveries;
  }
}

/**
 * Marks the rows and publishes their events in one transaction. When two processes do so, the first one wins.
 */
async function commit(
  context: Context,
  source: Source,
  interpretations: ReadonlyMap<Row, Interpretation>,
): Promise<number> {
  if (interpretations.size === 0) return 0;
  return context.db.transaction().execute(async (tx) => {
    // The source is locked before its subscriptions, as publishing locks them. A "changed" webhook may also
    // make it due.
    await lockSameSource(tx, source);
    const won = await mark(tx, context.clock.now(), interpretations);
    // The map has the order of arrival.
    const ours = [...interpretations].flatMap(([row, interpretation]) =>
      won.has(row.inbox_id) ? [interpretation] : [],
    );
    return publishInterpretations(tx, context, { source, interpretations: ours });
  });
}

/**
 * Marks webhooks as processed, or sets the time of their next look. Returns the ids that no other process has
 * processed.
 */
async function mark(
  tx: Tx,
  now: number,
  interpretations: ReadonlyMap<Row, Interpretation>,
): Promise<Set<string>> {
  const won = new Set<string>();
  const times = Map.groupBy(interpretations, ([, { again }]) => again);
  for (const [again, some] of times) {
    const rows = await tx
      .updateTable('inbox')
      .set(again === undefined ? { processed_at: now, error: null } : { next_at: again })
      .where(
        'inbox_id',
        'in',
        some.map(([row]) => row.inbox_id),
      )
      .where('processed_at', 'is', null)
      .returning('inbox_id')
      .execute();
    for (const row of rows) won.add(row.inbox_id);
  }
  return won;
}

/** Interprets a webhook. Returns undefined when it names a record that cannot be read now. */
async function interpretRow(
  context: Context,
  sender: Sender,
  { row, reading }: { row: Row; reading: Reading },
): Promise<Interpretation | undefined> {
  const event = { topic: row.topic, body: parseJson(row.body), receivedAt: row.received_at };
  const interpretation = await interpret(context, sender, event);
  if (interpretation.kind !== 'fetch') return interpretation;
  const { remoteId } = interpretation;
  const record = await readRecord(context, sender, { remoteId, reading });
  if (record === undefined) return undefined;
  if (record !== null) return interpretRecord(sender, { event: interpretation.event, record });
  const now = context.clock.now();
  const age = now - row.received_at;
  const again = now + Math.max(ASKED_AGAIN_MS, 3 * age);
  return { kind: 'nothing', again: age < SHOWN_WITHIN_MS ? again : undefined };
}

/**
 * Reads a record as fetchRecord() does. Returns undefined without a call while the app is down or its account
 * must be reconnected.
 */
async function readRecord(
  context: Context,
  { connector, source }: Sender,
  { remoteId, reading }: { remoteId: string; reading: Reading },
): Promise<Json | undefined> {
  const { clock } = context;
  if (clock.now() < reading.pausedUntil) return undefined;
  if (!(await isConnected(context, source))) {
    reading.pausedUntil = clock.now() + PAUSE_MS;
    return undefined;
  }
  try {
    return await fetchRecord(context, source, { connector, remoteId, signal: reading.signal });
  } catch (error) {
    if (!reading.signal.aborted && error instanceof GatehouseError && OUTAGES.has(error.code)) {
      reading.pausedUntil = clock.now() + PAUSE_MS;
      reading.outage = error;
    }
    throw error;
  }
}
