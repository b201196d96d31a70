import {
  asJson,
  asObject,
  canonicalJson,
  canonicalObject,
  isJsonObject,
  type Json,
  type JsonObject,
} from '../lib/json.ts';
import { memoByObject } from '../lib/memo.ts';
import { sha256 } from '../lib/sha256.ts';
import type { Action } from './catalog.ts';
import type { ConnectorFile, JsonSchema } from './format/format.ts';

type Described = Omit<Action, 'hash'>;

/** Shared schemas by their hashes. */
export type SharedSchemas = Map<string, Json>;

/**
 * Returns the part of an action that an operator approves: everything that a model and a person see of it, and the
 * target of its calls. The mapping of answers is not part of it, so it may be fixed without a new approval. `$defs` has
 * hashes instead of schemas, and the schemas are added to `shared`: whole public APIs repeat them in hundreds of actions.
 */
export function packedDefinition(
  file: Pick<ConnectorFile, 'baseUrl'>,
  action: Described,
  shared: SharedSchemas,
): JsonObject {
  const packed = ({ $defs, ...own }: JsonSchema) => {
    if (!isShared($defs)) return own;
    const { hashes, schemas } = packedSchemas($defs);
    for (const [hash, schema] of schemas) shared.set(hash, schema);
    return { ...own, $defs: hashes };
  };
  const inputSchema = packed(action.inputSchema);
  const outputSchema = packed(action.outputSchema);
  return asObject(asJson({ ...ownPart(file, action), inputSchema, outputSchema }));
}

/** Returns a definition with its shared schemas in their places. */
export function unpackedDefinition(definition: JsonObject, shared: SharedSchemas): JsonObject {
  const unpacked = Object.entries(definition).map(([name, member]): [string, Json] => {
    if (!isJsonObject(member) || !isJsonObject(member['$defs'])) return [name, member];
    const $defs = Object.entries(member['$defs']).map(([own, one]): [string, Json] => [
      own,
      typeof one === 'string' ? (shared.get(one) ?? {}) : one,
    ]);
    return [name, { ...member, $defs: Object.fromEntries($defs) }];
  });
  return Object.fromEntries(unpacked);
}

/** Returns the hashes of shared schemas in a packed definition. */
export function sharedIn(definition: JsonObject): string[] {
  return Object.values(definition).flatMap((member) =>
    Object.values(asObject(asObject(member)['$defs'])).filter((one) => typeof one === 'string'),
  );
}

/** Returns hashOf() of the action's definition with its shared schemas in their places. */
export function actionHash(file: Pick<ConnectorFile, 'baseUrl'>, action: Described): string {
  return sha256(
    canonicalObject({
      ...canonicalMembers(ownPart(file, action)),
      inputSchema: schemaText(action.inputSchema),
      outputSchema: schemaText(action.outputSchema),
    }),
  );
}

/** Returns the same hash for equal definitions, in any order of their members. */
export function hashOf(definition: JsonObject): string {
  return sha256(canonicalJson(definition));
}

/** Returns the part that is not schemas. */
function ownPart(file: Pick<ConnectorFile, 'baseUrl'>, action: Described): object {
  const { connectorId, actionId, name, description, effect, list } = action;
  const { effectWhen, before, each, after, mcp } = action.definition;
  return {
    connectorId,
    actionId,
    name,
    description,
    effect,
    ...(effectWhen.length > 0 ? { effectWhen } : {}),
    list,
    ...(mcp ? { mcp } : {}),
    ...(before ? { before } : {}),
    ...(each ? { each } : {}),
    ...(after ? { after } : {}),
    request: `${action.method} ${action.definition.baseUrl ?? file.baseUrl}${action.path}`,
  };
}

function schemaText({ $defs, ...own }: JsonSchema): string {
  const members = canonicalMembers(own);
  return canonicalObject(isShared($defs) ? { ...members, $defs: sharedTexts($defs) } : members);
}

function isShared($defs: unknown): $defs is object {
  return typeof $defs === 'object' && $defs !== null;
}

/* Made once for all actions that need the same shared schemas, because these have one `$defs` (action-schemas.ts). */
const sharedTexts = memoByObject(($defs: object) => {
  const texts = Object.entries($defs).map(([name, schema]): [string, string] => [name, textOf(schema)]);
  return canonicalObject(Object.fromEntries(texts));
});
const packedSchemas = memoByObject(($defs: object) => {
  const all = Object.entries($defs).map(([name, schema]) => ({ name, schema, hash: sha256(textOf(schema)) }));
  return {
    hashes: Object.fromEntries(all.map(({ name, hash }) => [name, hash])),
    schemas: all.map(({ hash, schema }): [string, Json] => [hash, asJson(schema)]),
  };
});

function textOf(schema: unknown): string {
  return typeof schema === 'object' && schema !== null ? objectText(schema) : canonicalJson(asJson(schema));
}

const objectText = memoByObject((schema: object) => canonicalJson(asJson(schema)));

function canonicalMembers(value: object): { [name: string]: string } {
  const members = asObject(asJson(value));
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, canonicalJson(member)]));
}
