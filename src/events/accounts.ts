import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { planJob } from '../jobs/jobs.ts';
import { deleteSource, forgetSeen } from './sources.ts';
import type { RegisterContext } from './registrations.ts';
import { deleteSubscription, type SubscriptionContext } from './subscriptions.ts';
import { removeHooksOf } from './unregister.ts';

/**
 * What listens to accounts that are about to go ends before them: their webhooks at the apps, their subscriptions with all
 * deliveries, and what their sources remembered. Gone with the account by foreign keys, a million rows would keep everybody
 * else waiting for seconds. Their events go within ten minutes (retention.ts). Should the process end in the middle, the
 * account is still there, and deleting it again does the rest.
 */
export async function endListening(
  context: RegisterContext & SubscriptionContext,
  of: { credentialId: string } | { userId: string },
): Promise<void> {
  const [column, id] =
    'userId' in of ? (['user_id', of.userId] as const) : (['credential_id', of.credentialId] as const);
  await removeHooksOf(context, of);
  const subscriptions = await context.db
    .selectFrom('subscriptions')
    .select(['environment', 'subscription_id'])
    .where(column, '=', id)
    .execute();
  for (const { environment, subscription_id: subscriptionId } of subscriptions)
    await deleteSubscription(context, environment, subscriptionId);
  const sources = await context.db
    .selectFrom('sources')
    .select('source_id')
    .where(column, '=', id)
    .where('status', '=', 'ending')
    .execute();
  for (const { source_id: sourceId } of sources) await deleteSource(context, sourceId);
}

/** Another account took the place of one: its records are others, and nothing of the old one's time is known of them. */
export async function listenAnew(
  context: Pick<Context, 'db' | 'clock' | 'sources'>,
  credentialId: string,
): Promise<void> {
  const now = context.clock.now();
  const listened = await context.db
    .updateTable('sources')
    .set({
      status: 'active',
      reason: null,
      baseline_at: null,
      cursor_until: null,
      continuation: null,
      next_poll_at: now,
      next_reconcile_at: null,
      lease_token: null,
      lease_until: null,
      hook_hash: null,
      hook_sealed: null,
      hook_state: sql<'none' | 'wanted'>`case when hook_state = 'none' then 'none' else 'wanted' end`,
      created_at: now,
      updated_at: now,
    })
    .where('credential_id', '=', credentialId)
    .where('status', '!=', 'ending')
    .returning(['source_id', 'hook_state'])
    .execute();
  for (const { source_id: sourceId, hook_state: hookState } of listened) {
    await forgetSeen(context.db, sourceId, 'active');
    if (hookState !== 'none')
      await planJob(context.db, context, { kind: 'register', key: sourceId, payload: { sourceId } });
  }
  context.sources.wake();
}
