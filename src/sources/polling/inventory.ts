import { z } from 'zod';
import { findConnection } from '../../credentials/records.ts';
import type { JobKind } from '../../jobs/jobs.ts';
import { DAY, HOUR, MINUTE } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { unifiedId } from '../../unified/ids.ts';
import { anyoneWantsDeleted, holdSame } from '../consumers.ts';
import { noticeDeleted } from './record-changes.ts';
import { tellGapRisk } from '../../outbox/operator-events.ts';
import type { PollContext } from './poll.ts';
import { readIds } from './read-all.ts';
import { fetchRecord, isConnected } from './remote-record.ts';
import { firstPollWaitMs, toSource, type Source } from '../source.ts';

const payloadSchema = z.object({ sourceId: z.string() });
const KEYS_AT_ONCE = 200;
/** Each one missing is asked for at the app before it is called deleted, once a day; more than these wait. */
const CONFIRMED_AT_ONCE = 200;
/** A shop of so many may have none the next day. */
const FEW = 10;
const GO_ON_MS = 5 * MINUTE;
const UNREAD =
  'Deletions were not looked for: the list is too long, or kept changing while it was read. That is tried again in a day.';
const HIDDEN =
  'Deletions were not told: the app lists none of the records that it had. That is looked at again in a day.';
/** Whether an account was connected anew is a look at the store. */
const LOOK_AGAIN_MS = HOUR;

/**
 * Finds what was deleted at an app that does not tell: once a day, as long as somebody wants to hear of it, every
 * record is listed, and one that was there before and no longer is, is asked for by its id. Only the app's own "there
 * is none" makes it deleted.
 */
export function inventoryJob(context: PollContext): JobKind {
  return {
    attempts: 12,
    async run(payload, signal) {
      const { sourceId } = payloadSchema.parse(payload);
      const source = await activeSource(context, sourceId);
      if (!source || !(await anyoneWantsDeleted(context.db, sourceId))) return undefined;
      if (source.status !== 'active' || !(await isConnected(context, source))) return LOOK_AGAIN_MS;
      // What was seen of an account before is forgotten by then (accounts.ts).
      if (source.baselineAt === null) return firstPollWaitMs(source);
      const startedAt = context.clock.now();
      const { ids, complete } = await readIds(context, source, signal);
      await remember(context, source, [...ids], startedAt);
      const gone = complete ? await missingOf(context, source, ids, startedAt) : [];
      // An app that shows nothing of many more likely lets us see nothing than lost all that it had.
      const isHidden = ids.size === 0 && gone.length > FEW;
      if (isHidden) await tellGapRisk(context, source, HIDDEN);
      else if (!complete && (await activeSource(context, sourceId)))
        await tellGapRisk(context, source, UNREAD);
      const missing = isHidden ? [] : gone;
      for (const remoteId of missing.slice(0, CONFIRMED_AT_ONCE)) {
        signal.throwIfAborted();
        await confirm(context, source, remoteId, signal);
      }
      return missing.length > CONFIRMED_AT_ONCE ? GO_ON_MS : DAY;
    },
    async gaveUp(payload, error) {
      const { sourceId } = payloadSchema.parse(payload);
      context.log.warn(
        { sourceId, reason: error.message },
        'the inventory of a source waits for the next day',
      );
      return DAY;
    },
  };
}

async function activeSource({ db }: PollContext, sourceId: string): Promise<Source | undefined> {
  const row = await db
    .selectFrom('sources')
    .selectAll()
    .where('source_id', '=', sourceId)
    .where('status', '!=', 'ending')
    .executeTakeFirst();
  return row && toSource(row);
}

/** What was there, is not listed, and was not asked for within a day; what waits longest comes first. */
async function missingOf(
  context: PollContext,
  { sourceId }: Source,
  ids: ReadonlySet<string>,
  startedAt: number,
): Promise<string[]> {
  // Of what polls and webhooks saw since the last listing there is no `p:` key.
  const seen = await timesOf(context, sourceId, 'c');
  const listed = await timesOf(context, sourceId, 'p');
  const asked = await timesOf(context, sourceId, 'a');
  const askedAt = (remoteId: string) => asked.get(remoteId) ?? 0;
  return [...new Map([...seen, ...listed])]
    .filter(([remoteId, seenAt]) => seenAt <= startedAt && !ids.has(remoteId))
    .map(([remoteId]) => remoteId)
    .filter((remoteId) => askedAt(remoteId) <= startedAt - DAY)
    .sort((one, other) => askedAt(one) - askedAt(other));
}

/** Ids at the app of which a kind of key is kept, and since when. */
async function timesOf(
  { db }: PollContext,
  sourceId: string,
  kind: 'p' | 'c' | 'a',
): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('seen')
    .select(['key', 'seen_at'])
    .where('source_id', '=', sourceId)
    // Not by their order: in that of a language a database may put ";" before ":".
    .where('key', 'like', `${kind}:%`)
    .execute();
  return new Map(rows.map(({ key, seen_at: seenAt }) => [key.slice(kind.length + 1), seenAt]));
}

async function confirm(
  context: PollContext,
  source: Source,
  remoteId: string,
  signal: AbortSignal,
): Promise<void> {
  // Noted before: one that makes the app fail must not hold up those behind it.
  await noteAsked(context, source, remoteId);
  if (!(await isGone(context, source, remoteId, signal))) return;
  const deliveries = await context.db.transaction().execute(async (tx) => {
    await holdSame(tx, source);
    const forgetKeys = (keys: string[]) =>
      tx
        .deleteFrom('seen')
        .where('source_id', '=', source.sourceId)
        .where('key', 'in', keys)
        .executeTakeFirst();
    await forgetKeys([`a:${remoteId}`]);
    const { numDeletedRows } = await forgetKeys([`p:${remoteId}`, `c:${remoteId}`]);
    if (numDeletedRows === 0n) return 0;
    const id = unifiedId(source.scope, source.credentialId, remoteId);
    return noticeDeleted(tx, context, source, { id, remoteId });
  });
  if (deliveries > 0) context.deliverer.wake();
}

async function noteAsked({ db, clock }: PollContext, source: Source, remoteId: string): Promise<void> {
  const now = clock.now();
  await db.transaction().execute(async (tx) => {
    await holdSame(tx, source);
    await tx
      .insertInto('seen')
      .values({ source_id: source.sourceId, key: `a:${remoteId}`, seen_at: now })
      .onConflict((c) => c.columns(['source_id', 'key']).doUpdateSet({ seen_at: now }))
      .execute();
  });
}

async function isGone(
  context: PollContext,
  source: Source,
  remoteId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { environment, connectorId, credentialId } = source;
  const connector = context.catalog.connector(environment, connectorId);
  const credential = await findConnection(context.db, environment, credentialId);
  if (!connector || !credential) return false;
  try {
    return (await fetchRecord(context, source, { connector, remoteId, signal })) === null;
  } catch (error) {
    // A refusal is about this record.
    if (error instanceof GatehouseError && error.code === 'upstream_rejected') return false;
    throw error;
  }
}

/** Notes that records were there. */
async function remember(
  { db }: PollContext,
  source: Source,
  remoteIds: readonly string[],
  now: number,
): Promise<void> {
  for (let at = 0; at < remoteIds.length; at += KEYS_AT_ONCE) {
    await db.transaction().execute(async (tx) => {
      await holdSame(tx, source);
      await tx
        .insertInto('seen')
        .values(
          remoteIds
            .slice(at, at + KEYS_AT_ONCE)
            .map((remoteId) => ({ source_id: source.sourceId, key: `p:${remoteId}`, seen_at: now })),
        )
        .onConflict((c) => c.columns(['source_id', 'key']).doNothing())
        .execute();
    });
  }
}
