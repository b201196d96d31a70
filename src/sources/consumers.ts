import type { Transaction } from 'kysely';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { planJob } from '../jobs/jobs.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import type { Source } from './source.ts';
import { releaseSource } from './sources.ts';

/* Who listens to a source: subscriptions, and installations of workflows that begin with its events. */

const kinds = z.array(z.string());

/** Ends a source when nobody listens to it any more. Whether it did, and `deleteSource` may follow the commit. */
export async function releaseIfUnheard(
  tx: Transaction<Tables>,
  context: Pick<Context, 'clock'>,
  sourceId: string,
): Promise<boolean> {
  return (await wishesOf(tx, sourceId)).length === 0 && (await releaseSource(tx, context, sourceId));
}

/**
 * Keeps polls and webhooks of a source from publishing until the transaction ends. Who removes a listener takes the
 * source first, as publishing does: the other way round the two could wait for each other.
 */
export async function holdSource(tx: Transaction<Tables>, sourceId: string): Promise<void> {
  await tx
    .updateTable('sources')
    .set((e) => ({ updated_at: e.ref('updated_at') }))
    .where('source_id', '=', sourceId)
    .execute();
}

/**
 * The same for who read a source a while ago, and is about to write what came of it: not into one that is listened to anew
 * by now, for another account. Each time that begins has a moment of its own (account-switch.ts).
 * @throws GatehouseError `unavailable` then.
 */
export async function holdSame(
  tx: Transaction<Tables>,
  { sourceId, createdAt }: Pick<Source, 'sourceId' | 'createdAt'>,
): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('sources')
    .set((e) => ({ updated_at: e.ref('updated_at') }))
    .where('source_id', '=', sourceId)
    .where('created_at', '=', createdAt)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw listenedAnew();
}

/** Another account took the place while something of the one before was under way. */
export function listenedAnew(): GatehouseError {
  return new GatehouseError('unavailable', 'This source was listened to anew meanwhile.');
}

export async function anyoneWantsDeleted(db: DbOrTx, sourceId: string): Promise<boolean> {
  const wishes = await wishesOf(db, sourceId);
  return wishes.some((events) => kinds.parse(JSON.parse(events ?? '[]')).includes('deleted'));
}

async function wishesOf(db: DbOrTx, sourceId: string): Promise<(string | null)[]> {
  const subscriptions = await db
    .selectFrom('subscriptions')
    .select('events')
    .where('source_id', '=', sourceId)
    .execute();
  const installations = await db
    .selectFrom('workflow_installations')
    .select('events')
    .where('source_id', '=', sourceId)
    .execute();
  return [...subscriptions, ...installations].map(({ events }) => events);
}

/** Deletions are found by looking what is there: at once for the first time, then daily. */
export async function planInventory(
  db: DbOrTx,
  context: Pick<Context, 'clock'>,
  sourceId: string,
): Promise<void> {
  await planJob(db, context, { kind: 'inventory', key: sourceId, payload: { sourceId } });
}
