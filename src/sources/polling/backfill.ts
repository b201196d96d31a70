import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { z } from 'zod';
import type { JobKind } from '../../runtime/jobs.ts';
import { HOUR, MINUTE } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { customFieldsOf } from '../../unified/field-mappings.ts';
import { unifiedOf, type Unified } from '../../unified/map.ts';
import { lockSameSource } from '../consumers.ts';
import { BEGINNING_MS, LARGEST_SKEW_MS } from './record-changes.ts';
import { knownAmong } from './record-keys.ts';
import { BACKFILL_MARK, publish } from '../../outbox/publish.ts';
import type { NewEvent } from '../../outbox/event.ts';
import { MAX_MIB, MAX_RECORDS, readAll } from './read-all.ts';
import { accountOf, isConnected } from './remote-record.ts';
import { firstPollWaitMs, toSource, type Source } from '../source.ts';

const payloadSchema = z.object({ subscriptionId: z.string(), sourceId: z.string() });
const RECORDS_AT_ONCE = 250;
const DELIVERIES_AT_ONCE = 1000;
/** Attempts, hourly at the end, so that a backfill outlives an outage of a week. */
const ATTEMPTS = 7 * 24;
/** Wait before the next check whether the account was reconnected. The check reads only the store. */
const LOOK_AGAIN_MS = HOUR;

/**
 * Sends a new subscription the existing records, oldest first, as `created`. Newer records reach it as
 * ordinary events. Each batch stores its position, so that no record is sent twice after a crash. The header
 * x-svc-backfill is `first`, `next`, `last` or `only`.
 */
export function backfillJob(context: Context): JobKind {
  return {
    attempts: ATTEMPTS,
    async run(payload, signal) {
      const { subscriptionId, sourceId } = payloadSchema.parse(payload);
      const row = await context.db
        .selectFrom('sources')
        .innerJoin('subscriptions', 'subscriptions.source_id', 'sources.source_id')
        .selectAll('sources')
        .select(['subscriptions.status as subscription_status', 'subscriptions.created_at as subscribed_at'])
        .where('sources.source_id', '=', sourceId)
        .where('subscription_id', '=', subscriptionId)
        .executeTakeFirst();
      if (!row) return undefined;
      const source = toSource(row);
      // A disabled subscription collects nothing. The backfill continues once it is enabled.
      if (row.subscription_status !== 'active') return MINUTE;
      if (!(await isConnected(context, source))) return LOOK_AGAIN_MS;
      // The first poll sets the baseline, which separates old records from new ones.
      if (source.baselineAt === null) return firstPollWaitMs(source);
      const { records: all, isAll } = await recordsOf(context, source, signal);
      const oldUntil = Math.max(source.baselineAt + BEGINNING_MS, row.subscribed_at - LARGEST_SKEW_MS);
      const records = await notYetSent(context, source, { subscriptionId, all, oldUntil });
      let left: Left = 'more';
      while (left === 'more' && !signal.aborted) {
        left = await sendBatch(context, source, { subscriptionId, records });
        await nextTurn();
      }
      if (left === 'more') return 0;
      if (left === 'waits') return MINUTE;
      if (!isAll) await storeReason(context, subscriptionId, INCOMPLETE);
      return undefined;
    },
    async gaveUp(payload, error) {
      const { subscriptionId } = payloadSchema.parse(payload);
      context.log.warn({ subscriptionId, reason: error.message }, 'backfill failed, will not retry');
      await storeReason(context, subscriptionId, `The backfill failed: ${error.message}`);
      await context.db
        .updateTable('subscriptions')
        .set({ backfill: 'none' })
        .where('subscription_id', '=', subscriptionId)
        .execute();
      return undefined;
    },
  };
}

const INCOMPLETE =
  `The backfill may lack records: the app has more than the ${MAX_RECORDS}, or ${MAX_MIB} MiB, that are read, they kept changing while ` +
  'they were read, or some do not fit the model. Fetch the rest with the list of the unified model.';

/** Stores a reason of ours, which the subscriber can read. */
async function storeReason({ db }: Context, subscriptionId: string, reason: string): Promise<void> {
  await db
    .updateTable('subscriptions')
    .set({ reason: reason.slice(0, 500) })
    .where('subscription_id', '=', subscriptionId)
    .where('status', '=', 'active')
    .execute();
}

/** State after a batch. `waits`: the subscription was disabled during the backfill. */
type Left = 'more' | 'none' | 'waits';

/** Publishes the next batch and stores its position, in one transaction. */
async function sendBatch(
  context: Context,
  source: Source,
  { subscriptionId, records }: { subscriptionId: string; records: readonly Unified[] },
): Promise<Left> {
  const left = await context.db.transaction().execute(async (tx): Promise<Left> => {
    await lockSameSource(tx, source);
    const row = await tx
      .selectFrom('subscriptions')
      .select(['status', 'backfill', 'backfill_after'])
      .where('subscription_id', '=', subscriptionId)
      .$if(context.store.kind === 'postgres', (query) => query.forUpdate())
      .executeTakeFirst();
    if (!row || row.backfill === 'done' || row.backfill === 'none') return 'none';
    if (row.status !== 'active') return 'waits';
    const { backfill_after: after } = row;
    const unsent = after === null ? records : records.filter((record) => placeOf(record) > after);
    const batch = unsent.slice(0, RECORDS_AT_ONCE);
    const isLast = batch.length === unsent.length;
    const end = batch.at(-1);
    for (const [mark, events] of marked(batch, { isFirst: after === null, isLast })) {
      await publish(tx, context, {
        source,
        events: events.map((one) => eventOf(source, one)),
        options: {
          only: subscriptionId,
          marks: { [BACKFILL_MARK]: mark },
        },
      });
    }
    await tx
      .updateTable('subscriptions')
      .set({
        backfill: isLast ? 'done' : 'running',
        backfill_after: isLast || !end ? null : placeOf(end),
        updated_at: context.clock.now(),
      })
      .where('subscription_id', '=', subscriptionId)
      .execute();
    return isLast ? 'none' : 'more';
  });
  context.dispatcher.wake();
  return left;
}

function eventOf({ scope }: Source, { id, body }: Unified): NewEvent {
  return { eventScope: scope, event: 'created', recordId: id, body };
}

/** Returns the records of a batch by their mark, in order. */
function marked(
  batch: readonly Unified[],
  { isFirst, isLast }: { isFirst: boolean; isLast: boolean },
): [mark: string, records: readonly Unified[]][] {
  if (isFirst && isLast && batch.length === 1) return [['only', batch]];
  const from = isFirst ? 1 : 0;
  const to = isLast ? -1 : batch.length;
  const parts: [string, readonly Unified[]][] = [
    ['first', batch.slice(0, from)],
    ['next', batch.slice(from, to)],
    ['last', isLast ? batch.slice(from).slice(-1) : []],
  ];
  return parts.filter(([, records]) => records.length > 0);
}

/** Returns the sort key of a record: the time of creation, then the id. */
function placeOf({ createdAt, remoteId }: Unified): string {
  return `${String(createdAt ?? 0).padStart(15, '0')}|${remoteId}`;
}

async function recordsOf(
  context: Context,
  source: Source,
  signal: AbortSignal,
): Promise<{ records: Unified[]; isAll: boolean }> {
  const { records, complete, unreadable } = await readAll(context, source, signal);
  const { connector } = await accountOf(context, source);
  const fields = await customFieldsOf(context, source);
  const found: Unified[] = [];
  let isAll = complete && unreadable === 0;
  const what = { connector, scope: source.scope, connectionId: source.credentialId };
  for await (const [, one] of unifiedOf(what, records.values(), fields)) {
    if (one instanceof GatehouseError) isAll = false;
    else found.push(one);
  }
  return { records: found.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)), isAll };
}

/**
 * Returns the records that the subscription does not receive as ordinary events. A record created before
 * `oldUntil`, on the app's clock, existed before the subscription. A younger record existed if its key is
 * known, because app clocks differ from ours. Records that were sent to the subscription since are left out.
 * A checkout, for example, is published once it is done, with the time at which it began.
 */
async function notYetSent(
  context: Context,
  source: Source,
  { subscriptionId, all, oldUntil }: { subscriptionId: string; all: readonly Unified[]; oldUntil: number },
): Promise<Unified[]> {
  const isOld = ({ createdAt = 0 }: Unified) => createdAt < oldUntil;
  const young = all.filter((record) => !isOld(record));
  // The keys are read before the deliveries, because one transaction writes the key of a record and its
  // deliveries.
  const known = await knownAmong(context.db, source.sourceId, young);
  const sent = await sentTo(context, source, subscriptionId);
  return all.filter((record) => (isOld(record) || known.has(record.remoteId)) && !sent.has(record.id));
}

/**
 * Returns the ids of the records that were sent to the subscription as new ones. It reads the deliveries of
 * the subscription once, in parts, because no index leads from a record to its deliveries. Deliveries from
 * before an account switch do not count.
 */
async function sentTo({ db }: Context, source: Source, subscriptionId: string): Promise<Set<string>> {
  const sent = new Set<string>();
  for (let after = 0; ;) {
    const rows = await db
      .selectFrom('deliveries')
      .innerJoin('events', 'events.event_id', 'deliveries.event_id')
      .select(['sequence', 'marks', 'event', 'record_id', 'events.created_at'])
      .where('subscription_id', '=', subscriptionId)
      .where('sequence', '>', after)
      .orderBy('sequence')
      .limit(DELIVERIES_AT_ONCE)
      .execute();
    for (const { marks, event, record_id: recordId, created_at: sentAt } of rows)
      if (marks === null && event === 'created' && sentAt > source.createdAt) sent.add(recordId);
    const last = rows.at(-1);
    if (!last || rows.length < DELIVERIES_AT_ONCE) return sent;
    after = last.sequence;
    // SQLite is synchronous, and there may be a million deliveries.
    await nextTurn();
  }
}
