import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { parseJson, valueAt, type Json } from '../../src/lib/json.ts';
import type { Service } from './service.ts';

/** A JSON-RPC answer over plain HTTP. */
export interface RpcAnswer {
  status: number;
  headers: Headers;
  /** The answer, or the last message of an event stream. */
  body: Json;
  /** Every message, in order. */
  messages: Json[];
  at(path: string): Json | undefined;
}

/** POSTs one JSON-RPC request to an MCP address; `raw` is sent unchanged. */
export async function rpc(
  url: string,
  method: string,
  params?: object,
  options: { headers?: Record<string, string>; id?: unknown; raw?: string; signal?: AbortSignal } = {},
): Promise<RpcAnswer> {
  const { id = 'q1', headers = {}, raw, signal } = options;
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: raw ?? JSON.stringify({ jsonrpc: '2.0', id, method, ...(params ? { params } : {}) }),
    ...(signal ? { signal } : {}),
  });
  const text = await response.text();
  const events = response.headers.get('content-type')?.startsWith('text/event-stream');
  const messages = events
    ? [...text.matchAll(/^data: (.+)$/gm)].map((match) => parseJson(match[1] ?? ''))
    : text === ''
      ? []
      : [parseJson(text)];
  const body = messages.at(-1) ?? null;
  return {
    status: response.status,
    headers: response.headers,
    body,
    messages,
    at: (path) => valueAt(body, path),
  };
}

/** Connects the official client to an MCP address. */
export async function connectClient(url: string, headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

/** Creates a user with a sandbox credential, and an MCP server for the user. */
export async function shop(
  service: Service,
  server: {
    restrictions?: object;
    toolMode?: string;
    pinTools?: boolean;
    codeMode?: string;
    budgets?: object[];
    circuit?: object | null;
    duplicateGuard?: 'on' | 'off';
    tokenExpiresInDays?: number;
    customInstructions?: string;
  } = {},
) {
  const unique = Math.random().toString(36).slice(2);
  const userId = (await service.call('POST', '/users', { body: { username: `user ${unique}` } })).text(
    'userId',
  );
  const made = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'sandbox', data: { apiKey: `sandbox_${unique}` } },
  });
  const created = await service.call('POST', '/api/servers', {
    headers: { 'x-svc-userid': userId },
    body: { name: `server ${unique}`, ...server },
  });
  return {
    userId,
    credentialId: made.text('credentialId'),
    apiKey: `sandbox_${unique}`,
    serverId: created.text('serverId'),
    url: created.text('url'),
    accessUrl: created.text('accessUrl'),
    accessToken: created.text('accessToken'),
  };
}
