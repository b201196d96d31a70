import { z } from 'zod';
import { findConnection } from '../credentials/records.ts';
import type { JobKind } from '../jobs/jobs.ts';
import { DAY, HOUR, MINUTE } from '../lib/clock.ts';
import { unifiedId } from '../unified/ids.ts';
import { anyoneWantsDeleted, planInventory } from './audience.ts';
import { fetchRecord } from './inbox.ts';
import { noticeDeleted } from './notice.ts';
import type { PollContext } from './poll.ts';
import { readAll } from './read-all.ts';
import { toSource, type Source } from './source.ts';

const payloadSchema = z.object({ sourceId: z.string() });
const KEYS_AT_ONCE = 200;
/** Each one missing is asked for at the app before it is called deleted; more than this wait for the next time. */
const CONFIRMED_AT_ONCE = 200;
const GO_ON_MS = 5 * MINUTE;
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
      if (!(await works(context, source))) return LOOK_AGAIN_MS;
      const { records, complete } = await readAll(context, source, signal);
      const startedAt = context.clock.now();
      // An empty list is more often a fault of the app than the end of all that it had.
      const missing = complete && records.size > 0 ? await missingOf(context, source, records) : [];
      for (const remoteId of missing.slice(0, CONFIRMED_AT_ONCE)) {
        if (signal.aborted) break;
        await confirm(context, source, remoteId, startedAt);
      }
      await remember(context, source, [...records.keys()], startedAt);
      return missing.length > CONFIRMED_AT_ONCE ? GO_ON_MS : DAY;
    },
    async gaveUp(payload, error) {
      const { sourceId } = payloadSchema.parse(payload);
      context.log.warn(
        { sourceId, reason: error.message },
        'the inventory of a source waits for the next day',
      );
      await planInventory(context.db, context, sourceId, DAY);
    },
  };
}

/** Whether the app can be asked: the account need not be connected anew first. */
async function works({ db }: PollContext, { environment, credentialId, status }: Source): Promise<boolean> {
  return status === 'active' && (await findConnection(db, environment, credentialId))?.state === 'active';
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

async function missingOf(
  { db }: PollContext,
  { sourceId }: Source,
  records: ReadonlyMap<string, unknown>,
): Promise<string[]> {
  const known = await db
    .selectFrom('seen')
    .select('key')
    .where('source_id', '=', sourceId)
    .where('key', '>=', 'p:')
    .where('key', '<', 'p;')
    .execute();
  return known.map(({ key }) => key.slice('p:'.length)).filter((remoteId) => !records.has(remoteId));
}

async function confirm(context: PollContext, source: Source, remoteId: string, now: number): Promise<void> {
  if (!(await isGone(context, source, remoteId))) return remember(context, source, [remoteId], now);
  const deliveries = await context.db.transaction().execute(async (tx) => {
    const { numDeletedRows } = await tx
      .deleteFrom('seen')
      .where('source_id', '=', source.sourceId)
      .where('key', '=', `p:${remoteId}`)
      .executeTakeFirst();
    if (numDeletedRows === 0n) return 0;
    const id = unifiedId(source.scope, source.credentialId, remoteId);
    return noticeDeleted(tx, context, source, { id, remoteId });
  });
  if (deliveries > 0) context.deliverer.wake();
}

async function isGone(context: PollContext, source: Source, remoteId: string): Promise<boolean> {
  const { environment, connectorId, credentialId } = source;
  const connector = context.catalog.connector(environment, connectorId);
  const credential = await findConnection(context.db, environment, credentialId);
  if (!connector || !credential) return false;
  return (await fetchRecord(context, source, connector, remoteId)) === null;
}

/** Notes that records were there. */
async function remember(
  { db }: PollContext,
  { sourceId }: Source,
  remoteIds: readonly string[],
  now: number,
): Promise<void> {
  for (let at = 0; at < remoteIds.length; at += KEYS_AT_ONCE) {
    await db
      .insertInto('seen')
      .values(
        remoteIds
          .slice(at, at + KEYS_AT_ONCE)
          .map((remoteId) => ({ source_id: sourceId, key: `p:${remoteId}`, seen_at: now })),
      )
      .onConflict((c) => c.columns(['source_id', 'key']).doNothing())
      .execute();
  }
}
