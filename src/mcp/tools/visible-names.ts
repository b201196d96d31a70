import { connectorIdFor, idsFor, type Ids, type Naming } from '../../actions/call-corrections.ts';
import {
  actionNotFound,
  connectorNotFound,
  type Action,
  type ConnectorActions,
} from '../../connectors/catalog.ts';
import { restricted } from '../../servers/access.ts';
import type { ToolScope } from '../scope/tool.ts';

/* Finds the connectors and actions that a model names among the visible ones. */

/** The place of a name in the arguments: `''`, or `calls.0.` in a batch. */
type At = string;

/** Returns what a model can name. Corrections are recorded in the scope. */
export function namingOf({ context, grant, visible, corrections }: ToolScope): Naming {
  return {
    catalog: context.catalog,
    environment: grant.environment,
    shown: () => visible.connectors,
    corrections,
    aliases: true,
  };
}

/** Returns a visible connector. @throws GatehouseError `restricted`, `connector_not_found` with the nearest names. */
export function visibleConnector(scope: ToolScope, named: string, at: At = ''): ConnectorActions {
  const { connectors } = scope.visible;
  const connectorId = connectorIdFor(namingOf(scope), named, at);
  const found = connectors.find(({ connector }) => connector.connectorId === connectorId);
  if (found) return found;
  const known = scope.context.catalog.connector(scope.grant.environment, connectorId);
  const rule = known && scope.grant.live.decision.connector(connectorId);
  if (rule) throw restricted(connectorId, rule);
  throw connectorNotFound(
    named,
    connectors.map(({ connector }) => connector.connectorId),
  );
}

/**
 * Returns a visible action.
 * @throws GatehouseError `restricted`, `connector_not_found`, `action_not_found` with the nearest names.
 */
export function visibleAction(scope: ToolScope, named: Ids, at: At = ''): Action {
  const { connectorId, actionId } = idsFor(namingOf(scope), named, at);
  const action = scope.context.catalog.action(scope.grant.environment, connectorId, actionId);
  const rule = action && scope.grant.live.decision.action(action);
  if (rule) throw restricted(`${connectorId}.${actionId}`, rule);
  if (action) return action;
  const { connector, actions } = visibleConnector(scope, connectorId);
  throw actionNotFound(connector, actionId, actions);
}
