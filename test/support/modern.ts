import type { JsonObject } from '../../src/lib/json.ts';
import { rpc, type RpcAnswer } from './mcp.ts';

export const VERSION = '2026-07-28';
const META = 'io.modelcontextprotocol/';

/** The metadata of a request of MCP 2026-07-28, with the changes of a test. */
export interface ModernOptions {
  capabilities?: JsonObject;
  meta?: JsonObject;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  id?: string | number;
}

/** POSTs one request of MCP 2026-07-28. */
export function modern(
  url: string,
  method: string,
  params: JsonObject = {},
  { capabilities = {}, meta = {}, headers = {}, ...rest }: ModernOptions = {},
): Promise<RpcAnswer> {
  return rpc(url, method, modernParams(params, { capabilities, meta }), {
    headers: { ...modernHeaders(method, params), ...headers },
    ...rest,
  });
}

export function modernParams(
  params: JsonObject,
  { capabilities = {}, meta = {} }: ModernOptions = {},
): JsonObject {
  return {
    ...params,
    _meta: {
      [`${META}protocolVersion`]: VERSION,
      [`${META}clientInfo`]: { name: 'test', version: '1' },
      [`${META}clientCapabilities`]: capabilities,
      ...meta,
    },
  };
}

export function modernHeaders(method: string, { name, uri }: JsonObject): Record<string, string> {
  const subject = method === 'resources/read' ? uri : name;
  return {
    'mcp-protocol-version': VERSION,
    'mcp-method': method,
    ...(typeof subject === 'string' ? { 'mcp-name': subject } : {}),
  };
}
