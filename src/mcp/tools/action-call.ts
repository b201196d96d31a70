import { forgiven } from '../../connectors/forgive.ts';
import type { Action } from '../../connectors/catalog.ts';
import { asSchema } from '../../connectors/model-schema.ts';
import { checkInput } from '../../connectors/validate.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { nameKey } from '../../lib/words.ts';
import { idsFor, withIds } from './visible-names.ts';
import type { ToolScope } from './tool.ts';

/* Reads calls of actions as models write them. Corrections are recorded in the scope. */

/** Arguments of a call besides the parameters of the action. */
const CALL_MEMBERS = new Set([
  'connectorId',
  'actionId',
  'parameters',
  'credentialId',
  'fields',
  'maxBytes',
  'confirmationToken',
]);
/** Arguments that a direct tool takes next to the parameters of its action. */
const DIRECT_MEMBERS = ['confirmationToken', 'credentialId'] as const;

/**
 * Returns the parameters corrected to the action's schema, where their meaning is certain. Replaces model aliases by
 * the parameters' own names. `path` is their place in the arguments.
 */
export function readParameters(
  scope: ToolScope,
  action: Action,
  { input, path = '' }: { input: JsonObject; path?: string },
): JsonObject {
  if (action.aliases.length === 0 && checkInput(action, input).length === 0) return input;
  const read = forgiven(action.inputSchema, input, path);
  scope.corrections.push(...read.corrections);
  return read.input;
}

/** Returns a call with its ids in two members. Moves parameters that stood next to `parameters` into it. */
export function repairedCall(scope: ToolScope, given: Json, at = ''): Json {
  const call = withIds(scope, given, at);
  if (!isJsonObject(call)) return call;
  const { connectorId, actionId, parameters = {} } = call;
  if (typeof connectorId !== 'string' || typeof actionId !== 'string' || !isJsonObject(parameters))
    return call;
  const ids = idsFor({ ...scope, corrections: [] }, { connectorId, actionId });
  const action = scope.context.catalog.action(scope.grant.environment, ids.connectorId, ids.actionId);
  const known = new Set(Object.keys(asSchema(action?.inputSchema['properties'])).map(nameKey));
  const strays = Object.keys(call).filter(
    (name) => !CALL_MEMBERS.has(name) && known.has(nameKey(name)) && !Object.hasOwn(parameters, name),
  );
  if (strays.length === 0) return call;
  for (const name of strays)
    scope.corrections.push({ path: `${at}${name}`, from: name, to: `parameters.${name}` });
  const stray = new Set(strays);
  const entries = Object.entries(call);
  const kept = entries.filter(([name]) => !stray.has(name));
  const inside = Object.fromEntries(entries.filter(([name]) => stray.has(name)));
  return { ...Object.fromEntries(kept), parameters: { ...parameters, ...inside } };
}

/**
 * Splits the arguments of a direct tool into the action's input and our own members. A member that the action also has
 * as a parameter belongs to the input.
 */
export function directArguments(
  scope: ToolScope,
  action: Action,
  args: JsonObject,
): { input: JsonObject; confirmationToken?: string; credentialId?: string } {
  const known = asSchema(action.inputSchema['properties']);
  const others = Object.keys(args).filter((name) => !Object.hasOwn(known, name));
  if (others.length === 0) return { input: args };
  const input = { ...args };
  const own: { confirmationToken?: string; credentialId?: string } = {};
  for (const member of DIRECT_MEMBERS) {
    if (Object.hasOwn(known, member)) continue;
    const given = others.find((name) => nameKey(name) === nameKey(member));
    if (given === undefined) continue;
    const value = args[given];
    if (typeof value !== 'string' && value !== null) continue;
    delete input[given];
    if (given !== member) scope.corrections.push({ path: given, from: given, to: member });
    if (typeof value === 'string') own[member] = value;
  }
  return { input, ...own };
}
