import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

/** A remote MCP server of the official SDK, with sessions. */
export interface RemoteServer extends AsyncDisposable {
  /** Its endpoint. */
  readonly url: string;
  /** The tokens that it accepts; any request where it is empty. */
  readonly tokens: Set<string>;
  /** Names of the messages that arrived, with the session of each. */
  readonly heard: { method: string; session: string | undefined }[];
  /** Answers requests in place of the server, where set. */
  instead: ((req: IncomingMessage, res: ServerResponse, body: string) => boolean) | undefined;
  /** Delays the answer to a message, where set. `authorization`: the header of its request. */
  before: ((method: string, authorization: string | undefined) => Promise<void>) | undefined;
  /** Adds tools to the sessions that begin from now on. `authorization`: the header of the request that began one. */
  tools: (server: McpServer, authorization: string | undefined) => void;
  /** Forgets all sessions, as a restart does. */
  forget(): void;
  /** Closes all connections. */
  drop(): void;
  openSessions(): number;
}

export async function startRemoteServer(): Promise<RemoteServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const begin = async (authorization: string | undefined): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const server = new McpServer(
      { name: 'notes-server', version: '2.1.0' },
      { capabilities: { logging: {} } },
    );
    addTools(server, authorization);
    remote.tools(server, authorization);
    await server.connect(Object.assign(transport, { onclose: transport.onclose ?? (() => {}) }));
    return transport;
  };
  const http = createServer(async (req, res) => {
    const body = await textOf(req);
    const session = req.headers['mcp-session-id']?.toString();
    const message: unknown = body === '' ? {} : JSON.parse(body);
    const { method = req.method ?? '' } = z.object({ method: z.string().optional() }).parse(message);
    remote.heard.push({ method, session });
    if (remote.instead?.(req, res, body)) return;
    await remote.before?.(method, req.headers.authorization);
    const token = req.headers.authorization?.replace('Bearer ', '') ?? '';
    if (remote.tokens.size > 0 && !remote.tokens.has(token))
      return void res.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end('{"error":"invalid_token"}');
    const known = session === undefined ? await begin(req.headers.authorization) : sessions.get(session);
    if (!known) return void res.writeHead(404).end('{}');
    await known.handleRequest(req, res, body === '' ? undefined : message);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const address = http.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const remote: RemoteServer = {
    url: `http://127.0.0.1:${address.port}/mcp`,
    tokens: new Set(),
    heard: [],
    instead: undefined,
    before: undefined,
    tools: () => {},
    forget: () => sessions.clear(),
    drop: () => http.closeAllConnections(),
    openSessions: () => sessions.size,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return remote;
}

/** The tools of the server. `authorization`: the header of the request that began the session. */
function addTools(server: McpServer, authorization: string | undefined): void {
  const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });
  server.registerTool(
    'add-numbers',
    {
      description: 'Adds two numbers.',
      inputSchema: { a: z.number(), b: z.number() },
      annotations: { readOnlyHint: true },
    },
    ({ a, b }) => text(String(a + b)),
  );
  server.registerTool(
    'whoAmI',
    { description: 'Tells the caller.', annotations: { readOnlyHint: true } },
    () => text(authorization ?? 'nobody'),
  );
  server.registerTool(
    'save_note',
    {
      description: 'Saves a note.',
      inputSchema: { title: z.string() },
      annotations: { destructiveHint: false },
    },
    ({ title }) => text(`saved ${title}`),
  );
  server.registerTool('erase', { description: 'Erases all notes.' }, () => text('erased'));
  server.registerTool('broken', { description: 'Fails.', annotations: { readOnlyHint: true } }, () => ({
    ...text('no such note'),
    isError: true,
  }));
  server.registerTool(
    'slow',
    { description: 'Reports progress.', annotations: { readOnlyHint: true } },
    async ({ _meta, sendNotification }) => {
      const progressToken = _meta?.progressToken;
      if (progressToken !== undefined)
        await sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress: 1, total: 2, message: 'half' },
        });
      await sendNotification({
        method: 'notifications/message',
        params: { level: 'warning', data: 'slowly' },
      });
      return text('done');
    },
  );
}

async function textOf(req: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of req.setEncoding('utf8')) text += chunk;
  return text;
}
