import { actionNotFound, connectorNotFound, type Action } from '../../connectors/catalog.ts';
import { isJsonObject, type Json } from '../../lib/json.ts';
import { nameKey } from '../../lib/words.ts';
import { restricted } from '../../servers/access.ts';
import type { ToolScope } from './tool.ts';
import type { VisibleConnector } from './visible-types.ts';

/* Finds the connectors and actions that a model names among the visible ones, in any letter case. */

/** The place of a name in the arguments: `''`, or `calls.0.` in a batch. */
type At = string;

/** Returns a visible connector. @throws GatehouseError `restricted`, `connector_not_found` with the nearest names. */
export function visibleConnector(scope: ToolScope, named: string, at: At = ''): VisibleConnector {
  const { connectors } = scope.visible;
  const connectorId = connectorIdFor(scope, named, at);
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
export function visibleAction(
  scope: ToolScope,
  named: { connectorId: string; actionId: string },
  at: At = '',
): Action {
  const { connectorId, actionId } = idsFor(scope, named, at);
  const action = scope.context.catalog.action(scope.grant.environment, connectorId, actionId);
  const rule = action && scope.grant.live.decision.action(action);
  if (rule) throw restricted(`${connectorId}.${actionId}`, rule);
  if (action) return action;
  const { connector, actions } = visibleConnector(scope, connectorId);
  throw actionNotFound(connector, actionId, actions);
}

/** Splits `connector.action` into two ids, in a call or an action named as text. */
export function withIds(scope: ToolScope, call: Json, at: At = ''): Json {
  if (typeof call === 'string') return split(scope, { actionId: call }, at) ?? call;
  return isJsonObject(call) ? { ...call, ...split(scope, call, at) } : call;
}

/**
 * Returns the two ids when one member holds both. Returns undefined when neither does or the other member differs.
 */
function split(
  { corrections }: Pick<ToolScope, 'corrections'>,
  { connectorId, actionId }: { connectorId?: Json; actionId?: Json },
  at: At,
): { connectorId: string; actionId: string } | undefined {
  const inAction = typeof actionId === 'string' && actionId.includes('.');
  const joined = inAction ? actionId : connectorId;
  const other = inAction ? connectorId : actionId;
  if (typeof joined !== 'string' || !joined.includes('.')) return undefined;
  const dot = joined.indexOf('.');
  const ids = { connectorId: joined.slice(0, dot), actionId: joined.slice(dot + 1) };
  const same = nameKey(inAction ? ids.connectorId : ids.actionId);
  if (other !== undefined && (typeof other !== 'string' || nameKey(other) !== same)) return undefined;
  corrections.push({
    path: `${at}${inAction ? 'actionId' : 'connectorId'}`,
    from: joined.slice(0, 100),
    to: `${ids.connectorId}, ${ids.actionId}`.slice(0, 100),
  });
  return ids;
}

/** Returns the ids that a model meant. Unknown ids stay unchanged, and a later look-up rejects them. */
export function idsFor(
  scope: ToolScope,
  given: { connectorId: string; actionId: string },
  at: At = '',
): { connectorId: string; actionId: string } {
  const named = { connectorId: given.connectorId, actionId: given.actionId, ...split(scope, given, at) };
  const connectorId = connectorIdFor(scope, named.connectorId, at);
  const { catalog } = scope.context;
  if (catalog.action(scope.grant.environment, connectorId, named.actionId))
    return { connectorId, actionId: named.actionId };
  const shown = scope.visible.connectors.find(({ connector }) => connector.connectorId === connectorId);
  const ids = shown?.actions.map((action) => action.actionId) ?? [];
  return { connectorId, actionId: meant(scope, named.actionId, { ids, path: `${at}actionId` }) };
}

function connectorIdFor(scope: ToolScope, named: string, at: At): string {
  const { catalog } = scope.context;
  if (catalog.connector(scope.grant.environment, named)) return named;
  const ids = scope.visible.connectors.map(({ connector }) => connector.connectorId);
  return meant(scope, named, { ids, path: `${at}connectorId` });
}

/** Returns the one id that differs only in letter case, `_` or `-`. Returns the name itself when there is none. */
function meant(
  { corrections }: Pick<ToolScope, 'corrections'>,
  named: string,
  { ids, path }: { ids: readonly string[]; path: string },
): string {
  const [only, ...others] = ids.filter((id) => nameKey(id) === nameKey(named));
  if (only === undefined || others.length > 0 || only === named) return named;
  corrections.push({ path, from: named.slice(0, 100), to: only });
  return only;
}
