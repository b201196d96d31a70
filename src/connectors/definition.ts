import { createHash } from 'node:crypto';
import { canonicalJson, isJsonObject, parseJson, type JsonObject } from '../lib/json.ts';
import type { Action } from './catalog.ts';
import type { ConnectorFile } from './format.ts';

/**
 * What an operator approves of an action: all that a model and a person are shown of it, and where its calls go. How an
 * answer is mapped may be mended without anybody being asked.
 */
export function definitionOf(file: Pick<ConnectorFile, 'baseUrl'>, action: Omit<Action, 'hash'>): JsonObject {
  const { connectorId, actionId, name, description, effect, list, inputSchema, outputSchema } = action;
  const { effectWhen, before, each } = action.definition;
  const definition = parseJson(
    JSON.stringify({
      connectorId,
      actionId,
      name,
      description,
      effect,
      ...(effectWhen.length > 0 ? { effectWhen } : {}),
      list,
      ...(before ? { before } : {}),
      ...(each ? { each } : {}),
      request: `${action.method} ${action.definition.baseUrl ?? file.baseUrl}${action.path}`,
      inputSchema,
      outputSchema,
    }),
  );
  return isJsonObject(definition) ? definition : {};
}

/** The same for equal definitions, in whatever order their members stand. */
export function hashOf(definition: JsonObject): string {
  return createHash('sha256').update(canonicalJson(definition)).digest('base64url');
}

/** The fingerprint of a connector. `text` is its definition as JSON. */
export function fingerprintOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
