import { deleteSource, releaseSource } from '../sources/source-records.ts';
import type { Context } from '../sources/context.ts';
import { deleteIfExists } from './subscriptions.ts';
import { removeHooksOf } from '../sources/webhooks/unregister.ts';

/**
 * Deletes the webhooks, subscriptions, deliveries and sources of accounts before the accounts themselves. A cascade of
 * foreign keys over a million rows would block all other writers for seconds. Their events are deleted within ten minutes
 * (src/outbox/event-retention.ts). If the process stops halfway, deleting the account again continues.
 */
export async function endListening(
  context: Context,
  key: { credentialId: string } | { userId: string },
): Promise<void> {
  const [column, id] =
    'userId' in key ? (['user_id', key.userId] as const) : (['credential_id', key.credentialId] as const);
  await removeHooksOf(context, key);
  const subscriptions = await context.db
    .selectFrom('subscriptions')
    .select(['environment', 'subscription_id'])
    .where(column, '=', id)
    .execute();
  for (const { environment, subscription_id: subscriptionId } of subscriptions)
    await deleteIfExists(context, { environment, subscriptionId });
  const sources = await context.db.selectFrom('sources').select('source_id').where(column, '=', id).execute();
  for (const { source_id: sourceId } of sources) {
    // Workflows that listen to the source stay, but receive no more events.
    await context.db.transaction().execute((tx) => releaseSource(tx, context, sourceId));
    await deleteSource(context, sourceId);
  }
}
