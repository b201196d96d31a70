import type { Action, Catalog, Connector } from '../connectors/catalog.ts';
import { forgiven } from '../connectors/schemas/forgive.ts';
import { asSchema } from '../connectors/schemas/model-schema.ts';
import { checkInput } from '../connectors/schemas/validate.ts';
import type { Correction } from '../lib/correction.ts';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { nameKey } from '../lib/words.ts';
import type { Environment } from '../store/environments.ts';

/*
 * Reads calls of actions as their callers write them, for REST and MCP. Corrects names and parameters that have one
 * meaning (docs/mcp.md, Arguments that are corrected), and records each correction.
 */

/** The connectors and actions that a caller can name, and the corrections of the call so far. */
export interface Naming {
  catalog: Pick<Catalog, 'connector' | 'action'>;
  environment: Environment;
  /** Returns the connectors that the caller sees, with the actions that the caller sees. */
  shown(): readonly { connector: Pick<Connector, 'connectorId'>; actions: readonly Action[] }[];
  corrections: Correction[];
  /** Whether the caller sees parameters under the names of `modelInput`. */
  aliases: boolean;
}

// An alias, because an interface is not assignable to an object of JSON.
export type Ids = { connectorId: string; actionId: string };

/** The members of a call besides the parameters of its action, and the one that holds the parameters. */
export interface CallForm {
  holder: string;
  members: ReadonlySet<string>;
}

/** Returns the ids that a caller meant. Unknown ids stay unchanged, and a later look-up rejects them. */
export function idsFor(naming: Naming, given: Ids, at = ''): Ids {
  const named = { connectorId: given.connectorId, actionId: given.actionId, ...split(naming, given, at) };
  const connectorId = connectorIdFor(naming, named.connectorId, at);
  if (naming.catalog.action(naming.environment, connectorId, named.actionId))
    return { connectorId, actionId: named.actionId };
  const shown = naming.shown().find(({ connector }) => connector.connectorId === connectorId);
  const ids = shown?.actions.map((action) => action.actionId) ?? [];
  return { connectorId, actionId: meant(naming, named.actionId, { ids, path: `${at}actionId` }) };
}

/** Returns the connector's id that a caller meant. An unknown one stays unchanged. */
export function connectorIdFor(naming: Naming, named: string, at = ''): string {
  if (naming.catalog.connector(naming.environment, named)) return named;
  const ids = naming.shown().map(({ connector }) => connector.connectorId);
  return meant(naming, named, { ids, path: `${at}connectorId` });
}

/** Splits `connector.action` into two ids, in a call or an action named as text. */
export function withIds(naming: Pick<Naming, 'corrections'>, call: Json, at = ''): Json {
  if (typeof call === 'string') return split(naming, { actionId: call }, at) ?? call;
  return isJsonObject(call) ? { ...call, ...split(naming, call, at) } : call;
}

/** Returns a call with its ids in two members. Moves parameters that stood next to their holder into it. */
export function correctedCall(
  naming: Naming,
  given: Json,
  { form, at = '' }: { form: CallForm; at?: string },
): Json {
  const call = withIds(naming, given, at);
  if (!isJsonObject(call)) return call;
  const { connectorId, actionId } = call;
  if (typeof connectorId !== 'string' || typeof actionId !== 'string') return call;
  const ids = idsFor({ ...naming, corrections: [] }, { connectorId, actionId });
  const action = naming.catalog.action(naming.environment, ids.connectorId, ids.actionId);
  return action ? movedInside(naming, call, { action, form, at }) : call;
}

/** Moves parameters that stand next to their holder into it. */
export function movedInside(
  { corrections }: Pick<Naming, 'corrections'>,
  call: JsonObject,
  { action, form, at }: { action: Action; form: CallForm; at: string },
): JsonObject {
  const { [form.holder]: held = {} } = call;
  if (!isJsonObject(held)) return call;
  const others = Object.keys(call).filter((name) => !form.members.has(name) && !Object.hasOwn(held, name));
  if (others.length === 0) return call;
  const known = new Set(Object.keys(asSchema(action.inputSchema['properties'])).map(nameKey));
  const strays = others.filter((name) => known.has(nameKey(name)));
  if (strays.length === 0) return call;
  for (const name of strays)
    corrections.push({ path: `${at}${name}`, from: name, to: `${form.holder}.${name}` });
  const stray = new Set(strays);
  const entries = Object.entries(call);
  const kept = Object.fromEntries(entries.filter(([name]) => !stray.has(name)));
  const inside = Object.fromEntries(entries.filter(([name]) => stray.has(name)));
  return { ...kept, [form.holder]: { ...held, ...inside } };
}

/** Returns the parameters corrected to the action's schema, where their meaning is certain. `path` is their place. */
export function correctedParameters(
  naming: Pick<Naming, 'corrections' | 'aliases'>,
  action: Action,
  { input, path = '' }: { input: JsonObject; path?: string },
): JsonObject {
  const aliases = naming.aliases && action.aliases.length > 0;
  if (!aliases && checkInput(action, input).length === 0) return input;
  const read = forgiven(action.inputSchema, input, { path, aliases });
  naming.corrections.push(...read.corrections);
  return read.input;
}

/**
 * Returns the two ids when one member holds both. Returns undefined when neither does or the other member differs.
 */
function split(
  { corrections }: Pick<Naming, 'corrections'>,
  { connectorId, actionId }: { connectorId?: Json; actionId?: Json },
  at: string,
): Ids | undefined {
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

/** Returns the one id that differs only in letter case, `_` or `-`. Returns the name itself when there is none. */
function meant(
  { corrections }: Pick<Naming, 'corrections'>,
  named: string,
  { ids, path }: { ids: readonly string[]; path: string },
): string {
  const [only, ...others] = ids.filter((id) => nameKey(id) === nameKey(named));
  if (only === undefined || others.length > 0 || only === named) return named;
  corrections.push({ path, from: named.slice(0, 100), to: only });
  return only;
}
