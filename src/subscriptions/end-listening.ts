import { deleteSource, releaseSource } from '../sources/sources.ts';
import type { RegisterContext } from '../sources/webhooks/registrations.ts';
import { deleteIfThere, type SubscriptionContext } from './subscriptions.ts';
import { removeHooksOf } from '../sources/webhooks/unregister.ts';

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
    await deleteIfThere(context, environment, subscriptionId);
  const sources = await context.db.selectFrom('sources').select('source_id').where(column, '=', id).execute();
  for (const { source_id: sourceId } of sources) {
    // Workflows that listen stay, and hear nothing more.
    await context.db.transaction().execute((tx) => releaseSource(tx, context, sourceId));
    await deleteSource(context, sourceId);
  }
}
