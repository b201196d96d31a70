import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { asObject, type JsonObject } from '../../src/lib/json.ts';

/** A message that arrived, with the request and the answer that it waits for. */
export interface Arrived {
  method: string;
  id: unknown;
  params: JsonObject;
  req: IncomingMessage;
  res: ServerResponse;
  /** Answers as JSON. */
  result(result: JsonObject): void;
}

/** Takes a message in place of the server, and returns true if it answered. */
export type Habit = (arrived: Arrived) => boolean | Promise<boolean>;

/** A remote MCP server without an SDK, which answers each message as a habit wants it. */
export interface PlainRemote extends AsyncDisposable {
  readonly url: string;
  readonly origin: string;
  /** Methods of the messages that arrived, `GET` and `DELETE` among them. */
  readonly heard: string[];
  /** Names of the tools that were called. */
  readonly called: string[];
  tools: unknown;
  habit: Habit;
}

/** Starts a server that has no sessions and opens no stream. */
export async function startPlainRemote(habit: Habit = () => false): Promise<PlainRemote> {
  const http = createServer(async (req, res) => {
    let body = '';
    for await (const chunk of req.setEncoding('utf8')) body += chunk;
    const message = asObject(body === '' ? {} : JSON.parse(body));
    const { id } = message;
    const method = String(message['method'] ?? req.method);
    const params = asObject(message['params']);
    remote.heard.push(method);
    const result = (value: JsonObject) => json(res, { jsonrpc: '2.0', id: id ?? null, result: value });
    const arrived: Arrived = { method, id, params, req, res, result };
    if (method === 'tools/call') remote.called.push(String(params['name']));
    if (await remote.habit(arrived)) return;
    answer(remote, arrived);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const address = http.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const origin = `http://127.0.0.1:${address.port}`;
  const remote: PlainRemote = {
    url: `${origin}/mcp`,
    origin,
    heard: [],
    called: [],
    tools: [{ name: 'echo', description: 'Says it.', inputSchema: { type: 'object' } }],
    habit,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return remote;
}

export const INITIALIZED = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: 'plain', version: '1' },
};

function answer(remote: PlainRemote, { method, id, params, res, result }: Arrived): void {
  if (method === 'GET' || method === 'DELETE') return void res.writeHead(405).end();
  if (id === undefined) return void res.writeHead(202).end();
  switch (method) {
    case 'initialize':
      return result(INITIALIZED);
    case 'tools/list':
      return result({ tools: JSON.parse(JSON.stringify(remote.tools)) });
    case 'tools/call':
      return result({ content: [{ type: 'text', text: `called ${String(params['name'])}` }] });
    default:
      json(res, { jsonrpc: '2.0', id: idOf(id), error: { code: -32_601, message: 'Method not found' } });
  }
}

/** Writes a body of JSON. */
export function json(res: ServerResponse, body: JsonObject, headers: Record<string, string> = {}): void {
  res.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** Begins a stream of events. */
export function beginEvents(res: ServerResponse, headers: Record<string, string> = {}): void {
  res.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
  res.flushHeaders();
}

export function idOf(id: unknown): string | number {
  return typeof id === 'string' || typeof id === 'number' ? id : 0;
}
