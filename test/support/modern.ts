import { EventSourceParserStream } from 'eventsource-parser/stream';
import { parseJson, type Json, type JsonObject } from '../../src/lib/json.ts';
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

export function modernHeaders(method: string, { name, uri, taskId }: JsonObject): Record<string, string> {
  const subject = method === 'resources/read' ? uri : method.startsWith('tasks/') ? taskId : name;
  return {
    'mcp-protocol-version': VERSION,
    'mcp-method': method,
    ...(typeof subject === 'string' ? { 'mcp-name': subject } : {}),
  };
}

/** Listens to resources. `messages` are those of the stream, from its acknowledgement on. */
export function listenTo(
  url: string,
  uris: string[],
  headers: Record<string, string> = {},
): Promise<{ messages: Json[]; leave(): void }> {
  return listenFor(url, { resourceSubscriptions: uris }, { headers });
}

/** Listens to the notifications of a filter. */
export async function listenFor(
  url: string,
  notifications: JsonObject,
  { headers = {}, capabilities = {} }: Pick<ModernOptions, 'headers' | 'capabilities'> = {},
): Promise<{ messages: Json[]; leave(): void }> {
  const leave = new AbortController();
  const method = 'subscriptions/listen';
  const params = modernParams({ notifications }, { capabilities });
  const { body } = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
      ...modernHeaders(method, {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'q1', method, params }),
    signal: leave.signal,
  });
  if (!body) throw new Error('there is no stream');
  const events = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  const messages: Json[] = [];
  void (async () => {
    for await (const { data } of events) messages.push(parseJson(data));
  })().catch(() => undefined);
  return { messages, leave: () => leave.abort() };
}
