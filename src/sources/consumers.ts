import type { Base } from '../base.ts';
import { planJob } from '../runtime/jobs.ts';
import { GatehouseError } from '../lib/errors.ts';
import { eventsIn } from '../outbox/delivery-target.ts';
import type { DbOrTx, Tx } from '../store/schema.ts';
import type { Source } from './source.ts';
import { releaseSource } from './source-records.ts';

/* Consumers of a source: subscriptions, and installations of workflows that an event of the source starts. */

/**
 * Ends a source that has no consumer left. Returns true when the caller may call `deleteSource` after the
 * commit.
 */
export async function releaseIfUnconsumed(
  tx: Tx,
  context: Pick<Base, 'clock'>,
  sourceId: string,
): Promise<boolean> {
  return (await eventsOfConsumers(tx, sourceId)).length === 0 && (await releaseSource(tx, context, sourceId));
}

/**
 * Locks the source, so that polls and webhooks publish nothing until the transaction ends. A transaction that
 * removes a consumer locks the source first, as publishing does. Otherwise the two could deadlock.
 */
export async function lockSource(tx: Tx, sourceId: string): Promise<void> {
  await tx
    .updateTable('sources')
    .set((e) => ({ updated_at: e.ref('updated_at') }))
    .where('source_id', '=', sourceId)
    .execute();
}

/**
 * Locks the source as lockSource() does, for a caller that read it earlier. It rejects the caller when
 * another account has replaced the account of the source since. Each switch raises `created_at`
 * (account-switch.ts).
 * @throws GatehouseError `unavailable` after such a switch.
 */
export async function lockSameSource(
  tx: Tx,
  { sourceId, createdAt }: Pick<Source, 'sourceId' | 'createdAt'>,
): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('sources')
    .set((e) => ({ updated_at: e.ref('updated_at') }))
    .where('source_id', '=', sourceId)
    .where('created_at', '=', createdAt)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw accountSwitched();
}

/** Returns the error for work that an account switch overtook. */
export function accountSwitched(): GatehouseError {
  return new GatehouseError(
    'unavailable',
    'Another account replaced the account of this source during the operation.',
  );
}

export async function deletionsAreConsumed(db: DbOrTx, sourceId: string): Promise<boolean> {
  const consumed = await eventsOfConsumers(db, sourceId);
  return consumed.some((events) => eventsIn(events ?? '[]').includes('deleted'));
}

async function eventsOfConsumers(db: DbOrTx, sourceId: string): Promise<(string | null)[]> {
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

/** Plans the job that finds deletions by listing all records: at once for the first time, then daily. */
export async function planInventory(
  db: DbOrTx,
  context: Pick<Base, 'clock'>,
  sourceId: string,
): Promise<void> {
  await planJob(db, context, { kind: 'inventory', key: sourceId, payload: { sourceId } });
}
