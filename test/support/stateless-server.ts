import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
  type McpHttpHandler,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

const NOTE = 'note://a';
const answered = z.object({ title: z.string() });

/** A remote MCP server of the official SDK for MCP 2026-07-28, without sessions. */
export interface StatelessServer extends AsyncDisposable {
  /** Its endpoint. */
  readonly url: string;
  /** The tokens that it accepts; any request where it is empty. */
  readonly tokens: Set<string>;
  /** Names of the messages that arrived, with their tokens. */
  readonly heard: { method: string; token: string }[];
  /** Number of calls of the tool `wait` that their clients cancelled. */
  cancelled: number;
  /** Reports changes to all streams that asked for them. */
  readonly notify: McpHttpHandler['notify'];
  /** Answers requests in place of the server, where set. */
  instead: ((req: IncomingMessage, res: ServerResponse, body: string) => boolean) | undefined;
  /** Adds tools, for the requests from now on. */
  tools: (server: McpServer) => void;
  /** Tokens of the streams of changes that are open. */
  listeners(): string[];
  /** Closes all connections. */
  drop(): void;
}

/** Starts a server. `older`: it also speaks the versions before. */
export async function startStatelessServer({ older = false } = {}): Promise<StatelessServer> {
  const listening = new Set<{ token: string }>();
  const handler = createMcpHandler(
    () => {
      const server = new McpServer(
        { name: 'notes-2026', version: '3.0.0' },
        { capabilities: { logging: {}, tools: { listChanged: true }, resources: { subscribe: true } } },
      );
      addTools(server, remote);
      remote.tools(server);
      return server;
    },
    { legacy: older ? 'stateless' : 'reject' },
  );
  const http = createServer(async (req, res) => {
    let body = '';
    for await (const chunk of req.setEncoding('utf8')) body += chunk;
    const token = req.headers.authorization?.replace('Bearer ', '') ?? '';
    const message: unknown = body === '' ? {} : JSON.parse(body);
    const { method = req.method ?? '' } = z.object({ method: z.string().optional() }).parse(message);
    remote.heard.push({ method, token });
    if (remote.instead?.(req, res, body)) return;
    if (remote.tokens.size > 0 && !remote.tokens.has(token))
      return void res.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end('{"error":"invalid_token"}');
    const one = { token };
    if (method === 'subscriptions/listen') listening.add(one);
    const gone = new AbortController();
    res.on('close', () => {
      listening.delete(one);
      gone.abort();
    });
    const headers = Object.entries(req.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    const request = new Request(remote.url, {
      method: req.method ?? 'POST',
      headers,
      signal: gone.signal,
      ...(body === '' ? {} : { body }),
    });
    const answer = await handler.fetch(request);
    res.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (!answer.body) return void res.end();
    res.flushHeaders();
    Readable.from(answer.body)
      .on('error', () => res.destroy())
      .pipe(res);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const address = http.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const remote: StatelessServer = {
    url: `http://127.0.0.1:${address.port}/mcp`,
    tokens: new Set(),
    heard: [],
    cancelled: 0,
    notify: handler.notify,
    instead: undefined,
    tools: () => {},
    listeners: () => [...listening].map(({ token }) => token),
    drop: () => http.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      await handler.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return remote;
}

function addTools(server: McpServer, remote: StatelessServer): void {
  const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });
  const reads = { annotations: { readOnlyHint: true } };
  server.registerTool(
    'add-numbers',
    { ...reads, inputSchema: z.object({ a: z.number(), b: z.number() }) },
    ({ a, b }) => text(String(a + b)),
  );
  server.registerTool('erase', {}, () => text('erased'));
  server.registerTool(
    'route',
    { ...reads, inputSchema: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) }) },
    (_input, { http }) => text(http?.req?.headers.get('mcp-param-region') ?? 'no header'),
  );
  server.registerTool('slow', reads, async ({ mcpReq }) => {
    const { _meta: meta } = mcpReq;
    const progressToken = meta?.progressToken;
    if (progressToken !== undefined)
      await mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress: 1, total: 2, message: 'half' },
      });
    await mcpReq.log('warning', 'slowly');
    return text('done');
  });
  server.registerTool('wait', reads, async ({ mcpReq }) => {
    await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve, { once: true }));
    remote.cancelled++;
    return text('too late');
  });
  // Asks the given number of questions, two of them at once.
  server.registerTool(
    'ask',
    { ...reads, inputSchema: z.object({ times: z.number() }) },
    ({ times }, { mcpReq }) => {
      const before: string[] = JSON.parse(mcpReq.requestState<string>() ?? '[]');
      const titles = ['first', 'second'].flatMap(
        (key) => acceptedContent(mcpReq.inputResponses, key, answered)?.title ?? [],
      );
      const all = [...before, ...titles];
      if (all.length >= times) return text(all.join(', '));
      const ask = (message: string) => inputRequired.elicit({ message, requestedSchema: answered });
      return inputRequired({
        inputRequests: {
          first: ask(`Which note? (${all.length + 1})`),
          ...(times - all.length > 1 ? { second: ask(`Which note? (${all.length + 2})`) } : {}),
        },
        requestState: JSON.stringify(all),
      });
    },
  );
  server.registerResource('note', NOTE, {}, () => ({ contents: [{ uri: NOTE, text: 'note' }] }));
}
