import type { SourceScope } from '../connectors/event-scopes.ts';
import { isoTime } from '../lib/clock.ts';
import type { JsonObject } from '../lib/json.ts';
import type { DbOrTx, Tx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { announce, listeners, newEvent, type PublishContext } from './publish.ts';
import type { Disabled } from './delivery-outcome.ts';
import type { SubscriptionRow } from './delivery-target.ts';

/** Events that an environment sends to its operator, at `eventsAddress` of the settings. */
export const OPERATOR_EVENTS = [
  'credential.created',
  'credential.needs_reconnect',
  'credential.deleted',
  'subscription.disabled',
  'poll.gap_risk',
  'run.failed',
  'run.recovered',
] as const;
export type OperatorEvent = (typeof OPERATOR_EVENTS)[number];

export const OPERATOR_SCOPE = 'operator';

/** Sends operator events. Lower layers depend on this interface only, and not on events. */
export interface Operator {
  /**
   * Notifies the operator of an environment, in the transaction of the change. The event is sent within a second of the
   * commit. `data` holds ids and reasons, never a secret.
   */
  notify(tx: Tx, environment: Environment, event: { type: OperatorEvent; data: JsonObject }): Promise<void>;
}

export function createOperator(context: PublishContext): Operator {
  return {
    notify: (tx, environment, event) => notifyOperator(tx, context, { environment, ...event }),
  };
}

/**
 * Notifies the operator of an environment, if an events address is set, and the listeners of the environment. `data`
 * holds ids and reasons, never a secret.
 */
export async function notifyOperator(
  tx: Tx,
  context: PublishContext,
  { environment, type, data }: { environment: Environment; type: OperatorEvent; data: JsonObject },
): Promise<void> {
  const operator = await findOperatorSubscription(tx, environment);
  const subscribers = [...(operator ? [operator] : []), ...(await listeners(tx, context, environment))];
  if (subscribers.length === 0) return;
  const body = JSON.stringify({ type, timestamp: isoTime(context.clock.now()), data });
  const recordId = [data['credentialId'], data['runId']].find((id) => typeof id === 'string') ?? '';
  await announce(tx, context, {
    events: [
      newEvent(context, { environment, sourceId: null, scope: OPERATOR_SCOPE, event: type, recordId, body }),
    ],
    subscribers: { others: subscribers },
  });
}

interface GapRiskSource {
  environment: Environment;
  sourceId: string;
  connectorId: string;
  credentialId: string;
  scope: SourceScope;
}

/** Reports that changes at an app may be missed or late, with the reason. */
export async function reportGapRisk(
  context: PublishContext,
  source: GapRiskSource,
  reason: string,
): Promise<void> {
  await context.db.transaction().execute((tx) => reportGapRiskIn(tx, context, { source, reason }));
  context.dispatcher.wake();
}

/** Does the same as reportGapRisk(), in the caller's transaction. */
export async function reportGapRiskIn(
  tx: Tx,
  context: PublishContext,
  {
    source: { environment, sourceId, connectorId, credentialId, scope },
    reason,
  }: { source: GapRiskSource; reason: string },
): Promise<void> {
  await notifyOperator(tx, context, {
    environment,
    type: 'poll.gap_risk',
    data: {
      sourceId,
      connectorId,
      connectionId: credentialId,
      scope,
      reason: reason.slice(0, 500),
    },
  });
}

/** Reports that a subscription was disabled, because its receiver failed for too long or is gone. */
export async function reportDisabled(
  tx: Tx,
  context: PublishContext,
  { target, reason }: Disabled,
): Promise<void> {
  const { environment, subscriptionId, connectionId, scope, address } = target;
  await notifyOperator(tx, context, {
    environment,
    type: 'subscription.disabled',
    data: {
      subscriptionId,
      connectionId,
      scope,
      address,
      reason,
    },
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
