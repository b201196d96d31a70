import {
  actionNotFound,
  callableAction,
  connectorNotFound,
  ownAction,
  type Action,
  type Connector,
} from '../connectors/catalog.ts';
import type { Effect } from '../connectors/effects.ts';
import { GatehouseError } from '../lib/errors.ts';
import { restricted } from '../servers/access.ts';
import type { Decision } from '../servers/restrictions.ts';
import type { Context } from './context.ts';
import type { Environment } from '../store/environments.ts';

/**
 * Returns the connector and the action, if they exist and the server's restrictions allow them to this user. An unknown
 * action of an allowed connector is "not found" without a look at the restrictions, because it may be a typing error. So
 * is an unknown connector. A denied user or a denied connector is `restricted` before that.
 * @throws GatehouseError `restricted` (`details.rule`), `connector_not_found`, `action_not_found`
 */
export function findAllowed(
  context: Pick<Context, 'catalog'>,
  request: {
    environment: Environment;
    connectorId: string;
    actionId: string;
    userId: string | undefined;
    /** See ExecuteRequest. */
    allowsInternal?: true;
    server?: { decision: Decision } | undefined;
  },
): { connector: Connector; action: Action } {
  const { environment, connectorId, actionId, userId, server, allowsInternal } = request;
  const decision = server?.decision;
  const connector = context.catalog.connector(environment, connectorId);
  const action =
    connector && (allowsInternal ? ownAction(connector, actionId) : callableAction(connector, actionId));
  const rule =
    (action ? decision?.action(action) : connector && decision?.connector(connectorId)) ??
    decision?.user(userId);
  if (rule !== undefined) {
    const what = rule.includes('users.') ? 'this user' : `${connectorId}.${actionId}`.slice(0, 100);
    throw restricted(what, rule);
  }
  if (connector && action) return { connector, action };
  const allowed = (one: Connector) => [...one.actions.values()].filter((each) => !decision?.action(each));
  if (connector) throw actionNotFound(connector, actionId, allowed(connector));
  const seen = context.catalog.connectors(environment).filter((one) => allowed(one).length > 0);
  throw connectorNotFound(
    connectorId,
    seen.map((one) => one.connectorId),
  );
}

/**
 * Refuses a call whose values give it an effect that the restrictions deny, although they allow its action.
 * @throws GatehouseError `restricted` (`details.rule`)
 */
export function assertEffect(
  decision: Pick<Decision, 'effect'> | undefined,
  { connectorId, actionId }: Action,
  effect: Effect,
): void {
  const rule = decision?.effect(effect);
  if (rule === undefined) return;
  throw new GatehouseError(
    'restricted',
    `With these values ${connectorId}.${actionId} is ${effect}, which this MCP server does not allow (${rule}).`,
    { details: { rule } },
  );
}
