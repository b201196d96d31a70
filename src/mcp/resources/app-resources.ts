import type { ResourceDefinition } from '../../connectors/format/format.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { asObject, type JsonObject } from '../../lib/json.ts';
import { THIRD_PARTY } from '../answers/third-party.ts';
import { takeFile } from './file-resource.ts';
import { runAction } from '../tools/run-action.ts';
import type { ToolScope } from '../scope/tool.ts';

/* Resources of connectors under their own addresses. An action of the connector reads each of them. */

/** A resource as resources/list shows it. A resource with parameters has a template in place of an address. */
interface Listed {
  address: string;
  name: string;
  title: string;
  description: string;
  mimeType?: string;
}

/** Returns the resources of visible connectors whose action is allowed: fixed addresses and templates. */
export function appResources(scope: ToolScope): { fixed: Listed[]; templates: Listed[] } {
  const all = broughtOf(scope).map(({ name, resource }) => ({
    address: resource.uri,
    name,
    title: resource.title ?? name.replaceAll('_', ' '),
    description: resource.description,
    ...(resource.mimeType === undefined ? {} : { mimeType: resource.mimeType }),
  }));
  return {
    fixed: all.filter(({ address }) => !address.includes('{')),
    templates: all.filter(({ address }) => address.includes('{')),
  };
}

/** Returns whether a visible connector has this address. Does not ask the app. */
export function isAppResource(scope: ToolScope, uri: string): boolean {
  return broughtOf(scope).some(({ resource }) => parametersIn(resource.uri, uri) !== undefined);
}

/**
 * Reads the content of an address. Returns undefined when no visible connector has it. @throws GatehouseError as
 * runAction()
 */
export async function readAppResource(scope: ToolScope, uri: string): Promise<JsonObject | undefined> {
  for (const { connectorId, resource } of broughtOf(scope)) {
    const input = parametersIn(resource.uri, uri);
    if (!input) continue;
    const { data } = await runAction(scope, { connectorId, actionId: resource.action, input });
    return { uri, ...(await contentOf(scope, data, resource)), _meta: THIRD_PARTY };
  }
  return undefined;
}

/** Returns the file that an action returned: its text, or its bytes in Base64. */
async function contentOf(
  scope: ToolScope,
  data: unknown,
  { mimeType }: ResourceDefinition,
): Promise<JsonObject> {
  const { mediaType, text, base64, fileId } = asObject(data);
  const reported = typeof mediaType === 'string' ? mediaType.split(';')[0]?.trim() : undefined;
  const type = { mimeType: mimeType ?? (reported || 'application/octet-stream') };
  if (typeof text === 'string') return { ...type, text };
  if (typeof fileId === 'string') return { ...type, blob: await takeFile(scope, fileId) };
  if (typeof base64 === 'string') return { ...type, blob: base64 };
  throw new GatehouseError('upstream_failed', 'The app gave no file for this resource.');
}

function broughtOf({ visible, grant }: ToolScope) {
  const { pins } = grant.live;
  return visible.connectors.flatMap(({ connector, actions }) =>
    Object.entries(connector.definition.resources)
      .filter(([, { action }]) => actions.some(({ actionId }) => actionId === action))
      .filter(([resourceId]) => !pins || pins.other(connector, { resourceId }))
      .map(([name, resource]) => ({ connectorId: connector.connectorId, name, resource })),
  );
}

/**
 * Returns the parameters of an address by its template, one segment each; undefined when the address does not match.
 */
function parametersIn(template: string, uri: string): JsonObject | undefined {
  const parts = template.split(/\{([a-zA-Z_][a-zA-Z0-9_]*)\}/);
  const input: JsonObject = {};
  let at = 0;
  for (let index = 0; index < parts.length; index += 2) {
    const literal = parts[index] ?? '';
    if (!uri.startsWith(literal, at)) return undefined;
    at += literal.length;
    const name = parts[index + 1];
    if (name === undefined) break;
    const next = parts[index + 2] ?? '';
    const found = next === '' ? uri.length : uri.indexOf(next, at);
    const value = found === -1 ? '' : uri.slice(at, found);
    if (value === '' || value.includes('/')) return undefined;
    input[name] = decoded(value);
    at += value.length;
  }
  return at === uri.length ? input : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
