import { randomUUID } from 'node:crypto';
import { sql, type Transaction } from 'kysely';
import type { Context } from '../context.ts';
import { planJob } from '../jobs/jobs.ts';
import { risingTo } from '../store/rising.ts';
import type { Tables } from '../store/schema.ts';
import { UNTIL_FORGOTTEN } from './source.ts';
import { dropWaiting } from './sources.ts';

/** What rooms below tell of: they know that a connection leads elsewhere, and nothing of who listens to it. */
export interface Listening {
  /** Another account took the place of the one of a credential, in this transaction. */
  other(tx: Transaction<Tables>, credentialId: string): Promise<void>;
  /** The account of a credential is at another address, in this transaction. */
  moved(tx: Transaction<Tables>, credentialId: string): Promise<void>;
}

export function createListening(context: Pick<Context, 'clock'>): Listening {
  return {
    other: (tx, credentialId) => listenAnew(tx, context, credentialId),
    moved: (tx, credentialId) => registerAnew(tx, context, credentialId),
  };
}

/**
 * The records of the other account are others, and nothing of the old one's time is known of them. Webhooks that waited
 * are dropped, and those to come lead nowhere. What was seen is forgotten afterwards, few rows at a time, by a job.
 */
async function listenAnew(
  tx: Transaction<Tables>,
  context: Pick<Context, 'clock'>,
  credentialId: string,
): Promise<void> {
  const now = context.clock.now();
  await forgetHooks(tx, context, credentialId);
  const listened = await tx
    .updateTable('sources')
    .set({
      // One that ends may be listened to again before its webhooks at the app are gone.
      status: sql<'active' | 'ending'>`case when status = 'ending' then 'ending' else 'active' end`,
      reason: null,
      baseline_at: null,
      cursor_until: null,
      continuation: null,
      next_poll_at: now,
      next_reconcile_at: null,
      lease_token: randomUUID(),
      lease_until: UNTIL_FORGOTTEN,
      // By it those who began before know that this is not what they began with (holdSame).
      created_at: risingTo('created_at', now),
    })
    .where('credential_id', '=', credentialId)
    .returning('source_id')
    .execute();
  for (const { source_id: sourceId } of listened) {
    await dropWaiting(tx, sourceId);
    await backfillAnew(tx, sourceId);
    await planJob(tx, context, { kind: 'anew', key: sourceId, payload: { sourceId } });
  }
}

/** How far a backfill came says nothing of the other account's records. */
async function backfillAnew(tx: Transaction<Tables>, sourceId: string): Promise<void> {
  const running = await tx
    .selectFrom('subscriptions')
    .select('subscription_id')
    .where('source_id', '=', sourceId)
    .where('backfill', '=', 'running')
    .orderBy('subscription_id')
    .execute();
  for (const { subscription_id: subscriptionId } of running)
    await tx
      .updateTable('subscriptions')
      .set({ backfill: 'wanted', backfill_after: null })
      .where('subscription_id', '=', subscriptionId)
      .execute();
}

/** What was seen is still true of the account; the poll after registering closes the gap. */
async function registerAnew(
  tx: Transaction<Tables>,
  context: Pick<Context, 'clock'>,
  credentialId: string,
): Promise<void> {
  for (const { source_id: sourceId, status, hook_state: state } of await forgetHooks(
    tx,
    context,
    credentialId,
  ))
    if (status !== 'ending' && state !== 'none')
      await planJob(tx, context, { kind: 'register', key: sourceId, payload: { sourceId } });
}

/** Where apps count their registrations, the ids of ours are those of others at another address. Also of sources that end. */
function forgetHooks(tx: Transaction<Tables>, { clock }: Pick<Context, 'clock'>, credentialId: string) {
  return tx
    .updateTable('sources')
    .set({
      hook_hash: null,
      hook_sealed: null,
      hook_state: sql<'none' | 'wanted'>`case when hook_state = 'none' then 'none' else 'wanted' end`,
      updated_at: clock.now(),
    })
    .where('credential_id', '=', credentialId)
    .returning(['source_id', 'status', 'hook_state'])
    .execute();
}
