import { newId } from '../lib/ids.ts';
import type { Context } from '../sources/context.ts';
import type { Environment } from '../store/environments.ts';
import { assertAddress, columnsOfAddress, restartSchedules, sendAtNewAddress } from './address.ts';
import { cancelWaiting } from '../outbox/cancel-deliveries.ts';
import { findOperatorSubscription, OPERATOR_EVENTS, OPERATOR_SCOPE } from '../outbox/operator-events.ts';
import { newSigningSecret } from '../outbox/signature.ts';
import { deleteIfExists } from './subscriptions.ts';
import { sealBinding } from '../outbox/delivery-target.ts';

/**
 * Sets the address of operator events; null ends them. Returns the secret when this call created the subscription.
 * @throws GatehouseError `invalid_request` for an address that may not be called.
 */
export async function setEventsAddress(
  context: Context,
  environment: Environment,
  address: string | null,
): Promise<{ secret: string | undefined }> {
  if (address === null) {
    const known = await findOperatorSubscription(context.db, environment);
    if (known) await deleteIfExists(context, { environment, subscriptionId: known.subscription_id });
    return { secret: undefined };
  }
  await assertAddress(context, address, 'eventsAddress');
  const secret = await createAt(context, environment, address);
  if (secret === undefined) await enableAt(context, environment, address);
  return { secret };
}

/** Creates the subscription and returns its secret. Returns undefined when it exists, also from a concurrent call. */
async function createAt(
  { db, clock, keys }: Context,
  environment: Environment,
  address: string,
): Promise<string | undefined> {
  const subscriptionId = newId('sub');
  const secret = newSigningSecret();
  const now = clock.now();
  const made = await db
    .insertInto('subscriptions')
    .values({
      subscription_id: subscriptionId,
      environment,
      kind: 'operator',
      scope: OPERATOR_SCOPE,
      address,
      events: JSON.stringify(OPERATOR_EVENTS),
      secret_sealed: keys.seal(secret, sealBinding(subscriptionId, 'secret')),
      status: 'active',
      ordered: 0,
      backfill: 'none',
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('subscription_id')
    .executeTakeFirst();
  return made && secret;
}

/** Enables the subscription as enableSubscription() does, and sets its address. */
async function enableAt(context: Context, environment: Environment, address: string): Promise<void> {
  const before = await findOperatorSubscription(context.db, environment);
  if (!before) return;
  const { subscription_id: subscriptionId } = before;
  await cancelWaiting(context, subscriptionId);
  const isMoved = address !== before.address;
  if (isMoved) await restartSchedules(context, subscriptionId);
  await context.db
    .updateTable('subscriptions')
    .set({
      status: 'active',
      reason: null,
      failing_since: null,
      // In the same object, because PostgreSQL refuses a column that is set twice.
      ...(isMoved ? columnsOfAddress(address) : {}),
      updated_at: context.clock.now(),
    })
    .where('subscription_id', '=', subscriptionId)
    .execute();
  context.dispatcher.changed(subscriptionId);
  if (isMoved) await sendAtNewAddress(context, subscriptionId);
}
