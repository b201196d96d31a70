import { connectorIdFor } from '../../actions/call-corrections.ts';
import type { Action } from '../../connectors/catalog.ts';
import type { JsonSchema } from '../../connectors/format/format.ts';
import { asSchema } from '../../connectors/schemas/model-schema.ts';
import type { JsonObject } from '../../lib/json.ts';
import { listOf } from '../../lib/near-members.ts';
import { nameKey, nearestNames, questionOf } from '../../lib/words.ts';
import { namingOf } from './visible-names.ts';
import type { ToolScope } from '../scope/tool.ts';

/* Proposals for calls of actions that lack an id. */

const MAX_PROPOSED = 3;

/** Returns the end of the rule for a missing id: the actions that were perhaps meant, else those of the connector. */
export function proposeIds(scope: ToolScope, args: JsonObject, field: string): string {
  const path = field.split('.');
  const name = path.at(-1);
  const call: unknown = path.slice(0, -1).reduce<unknown>((value, step) => Object(value)[step], args);
  if (typeof Object(call)[name ?? ''] === 'string') return '';
  const { connectorId, actionId } = Object(call);
  if (name === 'connectorId' && typeof actionId === 'string')
    return asQuestion(actionsNamed(scope, actionId).map(joined));
  if (name === 'actionId' && typeof connectorId === 'string')
    return listOf(actionsOf(scope, connectorId).map((action) => action.actionId));
  return '';
}

/** Returns the end of the rule for an entry or a list of actions to read. */
export function proposeActions(scope: ToolScope, args: JsonObject, field: string): string {
  const path = field.split('.');
  const value: unknown = path.reduce<unknown>((of, step) => Object(of)[step], args);
  if (path.length === 2 && typeof value === 'string')
    return asQuestion(actionsNamed(scope, value).map(joined));
  if (field !== 'actions' || value !== undefined) return proposeIds(scope, args, field);
  const { connectorId, actionId } = args;
  if (typeof actionId !== 'string') return '';
  const named = actionsNamed(scope, actionId).filter(
    (one) => typeof connectorId !== 'string' || nameKey(one.connectorId) === nameKey(connectorId),
  );
  const lists = named.map((one) =>
    JSON.stringify([{ connectorId: one.connectorId, actionId: one.actionId }]),
  );
  return lists.length === 0 ? '' : `. Did you mean ${lists.join(' or ')}?`;
}

/** Returns a tool's schema with the parameters of the action that the arguments name. */
export function withParameters(
  scope: ToolScope,
  { connectorId, actionId }: JsonObject,
  schema: JsonSchema,
): JsonSchema {
  if (typeof connectorId !== 'string') return schema;
  const action = actionsOf(scope, connectorId).find((one) => one.actionId === actionId);
  if (!action) return schema;
  return { ...schema, properties: { ...asSchema(schema['properties']), parameters: action.modelInput } };
}

/** Returns the visible actions that a text names: by their id, by the name of their tool, else the nearest ids. */
export function actionsNamed({ visible }: ToolScope, text: string): Action[] {
  const all = visible.connectors.flatMap(({ actions }) => actions);
  const key = nameKey(text.replaceAll('.', '_'));
  const same = all.filter((one) => [one.actionId, one.toolName].some((name) => nameKey(name) === key));
  if (same.length > 0) return same.slice(0, MAX_PROPOSED);
  const near = nearestNames(text, new Set(all.flatMap(({ actionId, toolName }) => [actionId, toolName])));
  return all
    .filter(({ actionId, toolName }) => near.includes(actionId) || near.includes(toolName))
    .slice(0, MAX_PROPOSED);
}

function actionsOf(scope: ToolScope, named: string): readonly Action[] {
  const connectorId = connectorIdFor({ ...namingOf(scope), corrections: [] }, named);
  const shown = scope.visible.connectors.find(({ connector }) => connector.connectorId === connectorId);
  return shown?.actions ?? [];
}

function joined({ connectorId, actionId }: Action): string {
  return `${connectorId}.${actionId}`;
}

function asQuestion(names: readonly string[]): string {
  return names.length === 0 ? '' : `.${questionOf(names)}`;
}
