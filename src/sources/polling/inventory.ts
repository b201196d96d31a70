import { z } from 'zod';
import type { Context } from '../context.ts';
import { findConnection } from '../../credentials/credential-records.ts';
import type { JobKind } from '../../runtime/jobs.ts';
import { DAY, HOUR, MINUTE } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { findSourceModel } from '../../connectors/source-model.ts';
import { unifiedId } from '../../unified/unified-ids.ts';
import { deletionsAreConsumed, lockSameSource } from '../consumers.ts';
import { recordDeletion } from './record-changes.ts';
import { reportGapRisk } from '../../outbox/operator-events.ts';
import { readIds } from './read-all.ts';
import { fetchRecord, isConnected } from './remote-record.ts';
import { firstPollWaitMs, toSource, type Source } from '../source.ts';

const payloadSchema = z.object({ sourceId: z.string() });
const KEYS_AT_ONCE = 200;
/**
 * Missing records to confirm in one run. Before a record counts as deleted, the app is asked for it by id,
 * once a day.
 */
const CONFIRMED_AT_ONCE = 200;
/** An app with up to this many records may have lost all of them within a day. */
const FEW = 10;
const GO_ON_MS = 5 * MINUTE;
const UNREAD =
  'Deletions were not looked for: the list is too long, or kept changing while it was read. Gatehouse tries again in a day.';
const HIDDEN =
  'Deletions were not reported: the app lists none of the records that it had. Gatehouse checks again in a day.';
/** Wait before the next check whether the account was reconnected. The check reads only the store. */
const LOOK_AGAIN_MS = HOUR;

/**
 * Finds records that were deleted at an app without deletion webhooks. It runs once a day while a consumer
 * wants deletions. It lists all records and asks the app by id for each known record that is missing. A
 * record is deleted only when the app reports that it does not exist.
 */
export function inventoryJob(context: Context): JobKind {
  return {
    attempts: 12,
    async run(payload, signal) {
      const { sourceId } = payloadSchema.parse(payload);
      const source = await activeSource(context, sourceId);
      if (!source || !canConfirm(context, source) || !(await deletionsAreConsumed(context.db, sourceId)))
        return undefined;
      if (source.status !== 'active' || !(await isConnected(context, source))) return LOOK_AGAIN_MS;
      // The keys of a previous account are pruned before the first poll (account-switch-job.ts).
      if (source.baselineAt === null) return firstPollWaitMs(source);
      const startedAt = context.clock.now();
      const { ids, complete } = await readIds(context, source, signal);
      await storeListed(context, source, { remoteIds: [...ids], now: startedAt });
      const gone = complete ? await missingOf(context, source, { ids, startedAt }) : [];
      // An app that lists nothing after many records more likely denies access than lost all of them.
      const isHidden = ids.size === 0 && gone.length > FEW;
      if (isHidden) await reportGapRisk(context, source, HIDDEN);
      else if (!complete && (await activeSource(context, sourceId)))
        await reportGapRisk(context, source, UNREAD);
      const missing = isHidden ? [] : gone;
      for (const remoteId of missing.slice(0, CONFIRMED_AT_ONCE)) {
        signal.throwIfAborted();
        await confirm(context, source, { remoteId, signal });
      }
      return missing.length > CONFIRMED_AT_ONCE ? GO_ON_MS : DAY;
    },
    async gaveUp(payload, error) {
      const { sourceId } = payloadSchema.parse(payload);
      context.log.warn({ sourceId, reason: error.message }, 'inventory failed, will retry in a day');
      return DAY;
    },
  };
}

/** Returns whether the app lists all records of a source and returns each by its id. */
function canConfirm({ catalog }: Context, { environment, connectorId, scope }: Source): boolean {
  const connector = catalog.connector(environment, connectorId);
  const model = connector && findSourceModel(connector, scope);
  // A scope that is gone may return. The run then fails and is repeated.
  return !model || (model.list !== undefined && model.get !== undefined);
}

async function activeSource({ db }: Context, sourceId: string): Promise<Source | undefined> {
  const row = await db
    .selectFrom('sources')
    .selectAll()
    .where('source_id', '=', sourceId)
    .where('status', '!=', 'ending')
    .executeTakeFirst();
  return row && toSource(row);
}

/**
 * Returns the known records that are not listed and were not asked for within a day, longest waiting first.
 */
async function missingOf(
  context: Context,
  { sourceId }: Source,
  { ids, startedAt }: { ids: ReadonlySet<string>; startedAt: number },
): Promise<string[]> {
  // Records that polls and webhooks observed since the last inventory have no `p:` key.
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

/** Returns the ids at the app that have a key of a kind, and the time of the key. */
async function timesOf(
  { db }: Context,
  sourceId: string,
  kind: 'p' | 'c' | 'a',
): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('seen')
    .select(['key', 'seen_at'])
    .where('source_id', '=', sourceId)
    // No range comparison, because the collation of a database may sort ";" before ":".
    .where('key', 'like', `${kind}:%`)
    .execute();
  return new Map(rows.map(({ key, seen_at: seenAt }) => [key.slice(kind.length + 1), seenAt]));
}

async function confirm(
  context: Context,
  source: Source,
  { remoteId, signal }: { remoteId: string; signal: AbortSignal },
): Promise<void> {
  // The attempt is stored first, so that a record on which the app fails does not delay the others.
  await storeAttempt(context, source, remoteId);
  if (!(await isGone(context, source, { remoteId, signal }))) return;
  const deliveries = await context.db.transaction().execute(async (tx) => {
    await lockSameSource(tx, source);
    const deleteKeys = (keys: string[]) =>
      tx
        .deleteFrom('seen')
        .where('source_id', '=', source.sourceId)
        .where('key', 'in', keys)
        .executeTakeFirst();
    await deleteKeys([`a:${remoteId}`]);
    const { numDeletedRows } = await deleteKeys([`p:${remoteId}`, `c:${remoteId}`]);
    if (numDeletedRows === 0n) return 0;
    const id = unifiedId(source.scope, source.credentialId, remoteId);
    return recordDeletion(tx, context, { source, record: { id, remoteId } });
  });
  if (deliveries > 0) context.dispatcher.wake();
}

async function storeAttempt({ db, clock }: Context, source: Source, remoteId: string): Promise<void> {
  const now = clock.now();
  await db.transaction().execute(async (tx) => {
    await lockSameSource(tx, source);
    await tx
      .insertInto('seen')
      .values({ source_id: source.sourceId, key: `a:${remoteId}`, seen_at: now })
      .onConflict((c) => c.columns(['source_id', 'key']).doUpdateSet({ seen_at: now }))
      .execute();
  });
}

async function isGone(
  context: Context,
  source: Source,
  { remoteId, signal }: { remoteId: string; signal: AbortSignal },
): Promise<boolean> {
  const { environment, connectorId, credentialId } = source;
  const connector = context.catalog.connector(environment, connectorId);
  const credential = await findConnection(context.db, environment, credentialId);
  if (!connector || !credential) return false;
  try {
    return (await fetchRecord(context, source, { connector, remoteId, signal })) === null;
  } catch (error) {
    // A rejection concerns this record only.
    if (error instanceof GatehouseError && error.code === 'upstream_rejected') return false;
    throw error;
  }
}

/** Stores that records were listed. */
async function storeListed(
  { db }: Context,
  source: Source,
  { remoteIds, now }: { remoteIds: readonly string[]; now: number },
): Promise<void> {
  for (let at = 0; at < remoteIds.length; at += KEYS_AT_ONCE) {
    await db.transaction().execute(async (tx) => {
      await lockSameSource(tx, source);
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
