import type { Correction } from '../../connectors/forgive.ts';
import { actionNotFound, connectorNotFound, type Action } from '../../connectors/catalog.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { isJsonObject, type Json } from '../../lib/json.ts';
import { nameKey } from '../../lib/words.ts';
import type { ToolScope } from './tool.ts';
import type { VisibleConnector } from './visible.ts';

/* The connectors and actions that a model names: found among those that its server shows, in whatever letter case. */

/** The place of a name in the arguments: `''`, or `calls.0.` in a batch. */
type At = string;

/** @throws GatehouseError `restricted`, `connector_not_found` with the nearest names. */
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

/** @throws GatehouseError `restricted`, `connector_not_found`, `action_not_found` with the nearest names. */
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

/** A call of an action, or an action by name, with its two ids apart where one text has both: `connector.action`. */
export function withIds(scope: ToolScope, call: Json, at: At = ''): Json {
  if (typeof call === 'string') return split(scope, { actionId: call }, at) ?? call;
  return isJsonObject(call) ? { ...call, ...split(scope, call, at) } : call;
}

/** The ids that one of the two members holds both; undefined where none does, or the other says something else. */
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

/** The ids that a model meant. Those that are nobody's stay as they are, and are not found later. */
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
  return { connectorId, actionId: meant(scope, named.actionId, ids, `${at}actionId`) };
}

/** A refusal that names the restriction. */
export function restricted(what: string, rule: string): GatehouseError {
  return new GatehouseError('restricted', `This MCP server does not allow ${what} (${rule}).`, {
    details: { rule },
  });
}

function connectorIdFor(scope: ToolScope, named: string, at: At): string {
  const { catalog } = scope.context;
  if (catalog.connector(scope.grant.environment, named)) return named;
  const ids = scope.visible.connectors.map(({ connector }) => connector.connectorId);
  return meant(scope, named, ids, `${at}connectorId`);
}

/** The one id that differs in letter case or in `_` and `-` alone; the name itself where there is none. */
function meant(
  { corrections }: Pick<ToolScope, 'corrections'>,
  named: string,
  ids: readonly string[],
  path: string,
): string {
  const [only, ...others] = ids.filter((id) => nameKey(id) === nameKey(named));
  if (only === undefined || others.length > 0 || only === named) return named;
  const correction: Correction = { path, from: named.slice(0, 100), to: only };
  corrections.push(correction);
  return only;
}
