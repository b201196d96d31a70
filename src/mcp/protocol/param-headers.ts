import type { IncomingMessage } from 'node:http';
import type { Action } from '../../connectors/catalog.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { checkHeader, mismatch } from './mcp-2026.ts';
import { headerText } from '../../lib/header-text.ts';

/*
 * A parameter whose schema says `x-mcp-header: Region` is repeated by clients of MCP 2026-07-28 in the header
 * Mcp-Param-Region, so that proxies can route by it (SEP-2243).
 */

const cached = new WeakMap<Action, [parameter: string, header: string][]>();

/**
 * Compares the headers of parameters with the arguments.
 * @throws GatehouseError `header_mismatch` when a header is missing or differs from its argument.
 */
export function checkParamHeaders(req: IncomingMessage, action: Action, args: JsonObject): void {
  let repeated = cached.get(action);
  if (!repeated) cached.set(action, (repeated = repeatedIn(action.inputSchema)));
  for (const [parameter, header] of repeated) {
    const value = args[parameter];
    if (value === undefined || value === null) {
      if (headerText(req, header.toLowerCase()) !== undefined)
        throw mismatch(`The header ${header} repeats an argument that is not given: ${parameter}.`);
    } else if (typeof value !== 'object') checkHeader(req, header, String(value));
  }
}

function repeatedIn({ properties }: Action['inputSchema']): [string, string][] {
  return Object.entries(typeof properties === 'object' && properties !== null ? properties : {}).flatMap(
    ([parameter, schema]): [string, string][] => {
      const name = isJsonObject(schema) ? schema['x-mcp-header'] : undefined;
      return typeof name === 'string' && /^[\w-]{1,64}$/.test(name) ? [[parameter, `Mcp-Param-${name}`]] : [];
    },
  );
}
