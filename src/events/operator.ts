import type { Transaction } from 'kysely';
import type { Context } from '../context.ts';
import { isoTime } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { JsonObject } from '../lib/json.ts';
import type { DbOrTx, Environment, Tables } from '../store/schema.ts';
import { assertAddress, atAddress, sendAtNewAddress } from './address.ts';
import { cancelWaiting } from './cancel.ts';
import { announce, listeners, newEvent, type PublishContext } from './publish.ts';
import type { Disabled } from './settle.ts';
import { newSigningSecret } from './signature.ts';
import { sealBinding, type SubscriptionRow } from './target.ts';

/** What an environment tells its operator (contract.md section 7), at `eventsAddress` of the settings. */
export const OPERATOR_EVENTS = [
  'credential.created',
  'credential.needs_reconnect',
  'credential.deleted',
  'subscription.disabled',
  'poll.gap_risk',
] as const;
export type OperatorEvent = (typeof OPERATOR_EVENTS)[number];

export const OPERATOR_SCOPE = 'operator';

/** What rooms below tell of: they know that something happened, and nothing of events. */
export interface Operator {
  /**
   * Tells the operator of an environment in the transaction of what happened; it goes out within a second of the commit.
   * `data` holds ids and reasons, never a secret.
   */
  tell(
    tx: Transaction<Tables>,
    environment: Environment,
    type: OperatorEvent,
    data: JsonObject,
  ): Promise<void>;
}

export function createOperator(context: PublishContext): Operator {
  return { tell: (tx, environment, type, data) => tellIn(tx, context, environment, type, data) };
}

/** Tells the operator of an environment, if it wants to know. `data` holds ids and reasons, never a secret. */
export async function tell(
  context: PublishContext,
  environment: Environment,
  type: OperatorEvent,
  data: JsonObject,
): Promise<void> {
  await context.db.transaction().execute((tx) => tellIn(tx, context, environment, type, data));
  context.deliverer.wake();
}

/** As tell(), in the transaction of what happened. */
export async function tellIn(
  tx: Transaction<Tables>,
  context: PublishContext,
  environment: Environment,
  type: OperatorEvent,
  data: JsonObject,
): Promise<void> {
  const operator = await findOperatorSubscription(tx, environment);
  const subscribers = [...(operator ? [operator] : []), ...(await listeners(tx, context, environment))];
  if (subscribers.length === 0) return;
  const body = JSON.stringify({ type, timestamp: isoTime(context.clock.now()), data });
  const recordId = typeof data['credentialId'] === 'string' ? data['credentialId'] : '';
  await announce(
    tx,
    context,
    [newEvent(context, { environment, sourceId: null, scope: OPERATOR_SCOPE, event: type, recordId, body })],
    { others: subscribers },
  );
}

/** Tells that a subscription was given up. */
export async function announceDisabled(
  tx: Transaction<Tables>,
  context: PublishContext,
  { target, reason }: Disabled,
): Promise<void> {
  const { environment, subscriptionId, connectionId, scope, address } = target;
  await tellIn(tx, context, environment, 'subscription.disabled', {
    subscriptionId,
    connectionId,
    scope,
    address,
    reason,
  });
}

export async function findOperatorSubscription(
  db: DbOrTx,
  environment: Environment,
): Promise<SubscriptionRow | undefined> {
  return db
    .selectFrom('subscriptions')
    .selectAll()
    .where('environment', '=', environment)
    .where('kind', '=', 'operator')
    .executeTakeFirst();
}

/**
 * Sets where operator events go; null ends them. The secret is there when this made the subscription.
 * @throws GatehouseError `invalid_request` for an address that may not be called.
 */
export async function setEventsAddress(
  context: Pick<Context, 'db' | 'store' | 'clock' | 'keys' | 'outbound' | 'deliverer'>,
  environment: Environment,
  address: string | null,
): Promise<{ secret: string | undefined }> {
  if (address !== null) await assertAddress(context, address, 'eventsAddress');
  const secret = newSigningSecret();
  const now = context.clock.now();
  const known = await findOperatorSubscription(context.db, environment);
  // Setting an address enables it, as enableSubscription() does.
  if (known) await cancelWaiting(context, known.subscription_id);
  const { before, made } = await context.db.transaction().execute(async (tx) => {
    const before = await findOperatorSubscription(tx, environment);
    if (address === null) {
      await tx
        .deleteFrom('subscriptions')
        .where('environment', '=', environment)
        .where('kind', '=', 'operator')
        .execute();
      return { before, made: false };
    }
    if (before) {
      await tx
        .updateTable('subscriptions')
        .set({
          status: 'active',
          reason: null,
          failing_since: null,
          // In the same object: PostgreSQL refuses a column that is set twice.
          ...(address === before.address ? {} : atAddress(address)),
          updated_at: now,
        })
        .where('subscription_id', '=', before.subscription_id)
        .execute();
      return { before, made: false };
    }
    const subscriptionId = newId('sub');
    await tx
      .insertInto('subscriptions')
      .values({
        subscription_id: subscriptionId,
        environment,
        kind: 'operator',
        scope: OPERATOR_SCOPE,
        address,
        events: JSON.stringify(OPERATOR_EVENTS),
        secret_sealed: context.keys.seal(secret, sealBinding(subscriptionId, 'secret')),
        status: 'active',
        ordered: 0,
        backfill: 'none',
        created_at: now,
        updated_at: now,
      })
      .execute();
    return { before, made: true };
  });
  if (before) {
    context.deliverer.changed(before.subscription_id);
    if (address !== null && address !== before.address)
      await sendAtNewAddress(context, before.subscription_id);
  }
  return { secret: made ? secret : undefined };
}
