import type { IncomingMessage } from 'node:http';
import type { Action } from '../../connectors/catalog.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { checkHeader, mismatch } from './mcp-2026.ts';
import { headerText } from '../../lib/http/header-text.ts';
import { memoByObject } from '../../lib/memo.ts';

/*
 * A parameter whose schema says `x-mcp-header: Region` is repeated by clients of MCP 2026-07-28 in the header
 * Mcp-Param-Region, so that proxies can route by it (SEP-2243).
 */

/**
 * Compares the headers of parameters with the arguments. Headers of a remote tool are between Gatehouse and its server:
 * clients get its schema without them, because some model APIs reject unknown keywords.
 * @throws GatehouseError `header_mismatch` when a header is missing or differs from its argument.
 */
export function checkParamHeaders(req: IncomingMessage, action: Action, args: JsonObject): void {
  if (action.definition.mcp) return;
  for (const [parameter, header] of repeatedIn(action)) {
    const value = args[parameter];
    if (value === undefined || value === null) {
      if (headerText(req, header.toLowerCase()) !== undefined)
        throw mismatch(`The header ${header} is set, but its argument ${parameter} is missing.`);
    } else if (typeof value !== 'object') checkHeader(req, header, String(value));
  }
}

/** Returns the parameters that headers repeat, with the names of the headers. */
const repeatedIn = memoByObject(({ inputSchema: { properties } }: Action) =>
  Object.entries(typeof properties === 'object' && properties !== null ? properties : {}).flatMap(
    ([parameter, schema]): [parameter: string, header: string][] => {
      const name = isJsonObject(schema) ? schema['x-mcp-header'] : undefined;
      return typeof name === 'string' && /^[\w-]{1,64}$/.test(name) ? [[parameter, `Mcp-Param-${name}`]] : [];
    },
  ),
);
