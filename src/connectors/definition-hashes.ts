import { asObject, canonicalJson, parseJson, type JsonObject } from '../lib/json.ts';
import type { Action } from './catalog.ts';
import type { ConnectorFile } from './format.ts';
import { sha256 } from '../lib/sha256.ts';

/**
 * Returns the part of an action that an operator approves: everything that a model and a person see of it, and the
 * target of its calls. The mapping of answers is not part of it, so it may be fixed without a new approval.
 */
export function definitionOf(file: Pick<ConnectorFile, 'baseUrl'>, action: Omit<Action, 'hash'>): JsonObject {
  const { connectorId, actionId, name, description, effect, list, inputSchema, outputSchema } = action;
  const { effectWhen, before, each, after, mcp } = action.definition;
  const definition = parseJson(
    JSON.stringify({
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
      inputSchema,
      outputSchema,
    }),
  );
  return asObject(definition);
}

/** Returns the same hash for equal definitions, in any order of their members. */
export function hashOf(definition: JsonObject): string {
  return sha256(canonicalJson(definition));
}
