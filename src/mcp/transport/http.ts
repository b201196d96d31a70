import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from '../context.ts';
import {
  answerInSpan,
  assertHost,
  bringsNoCredential,
  countRefusal,
  createRequestLog,
  openVisit,
  type Visit,
} from '../../identity/visit.ts';
import { answerError, GatehouseError, hidesCause } from '../../lib/errors.ts';
import { headerText } from '../../lib/http/header-text.ts';
import { discardRest, jsonFromBody, MIB, readBody } from '../../lib/http/http-body.ts';
import type { Json } from '../../lib/json.ts';
import { assertOrigin, grantOf, authenticate, mcpPathOf, type McpPath } from './endpoint.ts';
import type { Authentication, Grant } from '../scope/grant.ts';
import { createExchange, type Exchange } from './exchange.ts';
import { createMcp2026Exchange } from './exchange-2026.ts';
import type { CallTool } from '../../servers/tool-call.ts';
import { createToolCalls } from './tool-calls.ts';
import { VERSIONS } from '../protocol/initialize.ts';
import { readMessage, type Message } from '../protocol/message.ts';
import { isMcp2026 } from '../protocol/mcp-2026.ts';
import { beginEvents, framingOf, sendEmpty, sendRefusal } from './reply.ts';
import { createListeners } from './listeners.ts';
import { createMcpCore } from '../server/server.ts';
import { createSessions, openStream, eventPositionOf, type Session } from './client-sessions.ts';
import { watchChanges } from './watch.ts';

const METHODS = 'POST, GET, DELETE, OPTIONS';
const MAX_BATCH = 100;

/** Handles both MCP URLs, with and without sessions. */
export interface McpHandler {
  /** Answers a request below /mcp/. Never rejects. */
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>;
  /** Calls a tool for a caller of REST. */
  readonly callTool: CallTool;
  /** Lets calls that became tasks end, for `patienceMs` at most. */
  drain(patienceMs: number): Promise<void>;
  /** Runs the code of a call before the first client; see warm-up.ts. */
  warmUp(): Promise<void>;
  /** Ends the listening streams, so that a shutdown waits only for running calls. */
  closeStreams(): void;
  close(): Promise<void>;
}

/** One request under way: the facts for its error answer and its log line. */
interface McpVisit extends Visit {
  req: IncomingMessage;
  res: ServerResponse;
  headers: Record<string, string>;
  id?: string | number;
  rpcMethod?: string;
  serverId?: string;
}

export async function createMcpHandler(context: Context): Promise<McpHandler> {
  const core = await createMcpCore(context);
  const sessions = createSessions(context.clock);
  const listeners = createListeners();
  const watch = watchChanges(context, core.remoteSubscriptions, () => [
    ...sessions.listening(),
    ...listeners.all(),
  ]);
  const mcp2026 = createMcp2026Exchange(context, { core, listeners, watch });
  const exchange = createExchange(context, core, { sessions, watch, mcp2026 });
  const logRequest = createRequestLog(context);
  const { mcpSessions, mcpStreams } = context.telemetry;
  const unwatchSessions = mcpSessions.watch(sessions.count);
  const unwatchStreams = mcpStreams.watch(() => [...sessions.listening(), ...listeners.all()].length);
  return {
    async handle(req, res) {
      const opened = openVisit('/mcp/{serverId}');
      const visit: McpVisit = { ...opened, req, res, headers: { 'X-Request-Id': opened.requestId } };
      await answerInSpan(context, { req, res, visit }, async () => {
        try {
          await handleRequest(context, exchange, visit);
        } catch (thrown) {
          const { accessToken } = mcpPathOf(req.url ?? '') ?? {};
          const lacksCredential = accessToken === undefined && bringsNoCredential(req);
          const refusal = await countRefusal(context, { req, lacksCredential }, thrown);
          await discardRest(req);
          answerFault(context, visit, refusal);
        }
      });
      logRequest(req, res, visit);
    },
    callTool: createToolCalls(context, mcp2026),
    warmUp: core.warmUp,
    drain: (patienceMs) => core.runningTasks.drain(patienceMs),
    closeStreams() {
      sessions.closeStreams();
      listeners.closeStreams();
    },
    async close() {
      unwatchSessions();
      unwatchStreams();
      watch.close();
      sessions.close();
      await core.close();
    },
  };
}

/** A request whose server and caller are known. */
interface Authenticated {
  visit: McpVisit;
  authentication: Authentication;
  path: McpPath;
}

/** Checks a request and dispatches it by method. Cheap checks come first: 401, 429, body, 403. */
async function handleRequest(context: Context, exchange: Exchange, visit: McpVisit): Promise<void> {
  const { req, res, headers } = visit;
  assertHost(context, req);
  const path = mcpPathOf(req.url ?? '');
  if (!path)
    throw new GatehouseError(
      'not_found',
      'The MCP endpoints are /mcp/{serverId} and /mcp/{serverId}/{accessToken}.',
    );
  if (path.accessToken !== undefined) visit.route = '/mcp/{serverId}/{accessToken}';
  const origin = headerText(req, 'origin');
  if (req.method === 'OPTIONS') return preflight(context, visit, origin);

  const authentication = await authenticate(context, req, path);
  visit.serverId = authentication.live.server.serverId;
  if (origin !== undefined) {
    await assertOrigin(context, origin, authentication);
    headers['Access-Control-Allow-Origin'] = origin;
    headers['Access-Control-Expose-Headers'] = 'Mcp-Session-Id, X-Request-Id, Retry-After, WWW-Authenticate';
    headers['Vary'] = 'Origin';
  }
  switch (req.method) {
    case 'POST':
      return await post(context, exchange, { visit, authentication, path });
    case 'GET':
      return listen(context, exchange, { visit, authentication, path });
    case 'DELETE': {
      if (sessionIdOf(req) === undefined) throw notAllowed('DELETE');
      const session = exchange.session(await grantOf(context, req, authentication), sessionIdOf(req));
      exchange.end(session);
      return sendEmpty(res, 200, headers);
    }
    default:
      throw notAllowed(req.method);
  }
}

async function post(
  context: Context,
  exchange: Exchange,
  { visit, authentication, path }: Authenticated,
): Promise<void> {
  const { req, res, headers } = visit;
  const key = `${authentication.live.server.serverId} ${authentication.caller.label}`;
  Object.assign(headers, await context.limits.mcp(key, 1));
  const framing = framingOf(req.headers.accept);
  if (!framing.events) {
    throw new GatehouseError(
      'not_acceptable',
      'The Accept header must include text/event-stream: application/json, text/event-stream.',
    );
  }
  const type = headerText(req, 'content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== undefined && type !== 'application/json') {
    throw new GatehouseError(
      'unsupported_media_type',
      'The Content-Type of an MCP request must be application/json.',
    );
  }
  const body = parse((await readBody(req, MIB)).toString('utf8'));
  const granted = await grantOf(context, req, authentication);
  const message = Array.isArray(body) ? undefined : readMessage(body);
  if (message && 'method' in message) visit.rpcMethod = message.method.slice(0, 64);
  if (message?.kind === 'request') visit.id = message.request.id;

  const sessionId = sessionIdOf(req);
  const flow = { req, res, requestId: visit.requestId, headers, framing, grant: granted, session: undefined };
  // MCP 2026-07-28 has no sessions, so a request with a session id is of an older version, whatever its headers say.
  const versionHeaders = sessionId === undefined ? req.headers : undefined;
  if (message && message.kind !== 'response' && isMcp2026(versionHeaders, message))
    return exchange.one(flow, message, () => rightsOf(context, req, path));

  const session = sessionId === undefined ? undefined : exchange.session(granted, sessionId);
  assertVersion(req);
  if (message) return await exchange.one({ ...flow, session }, message);
  const messages = batchOf(Array.isArray(body) ? body : [], session);
  if (messages.length > 1) Object.assign(headers, await context.limits.mcp(key, messages.length - 1));
  visit.rpcMethod = 'batch';
  return exchange.batch({ ...flow, session }, messages);
}

async function listen(
  context: Context,
  exchange: Exchange,
  { visit, authentication, path }: Authenticated,
): Promise<void> {
  const { req, res, headers } = visit;
  const sessionId = sessionIdOf(req);
  if (sessionId === undefined) throw notAllowed('GET');
  if (!framingOf(req.headers.accept).events) {
    throw new GatehouseError(
      'not_acceptable',
      'A GET opens an event stream: Accept must include text/event-stream.',
    );
  }
  const granted = await grantOf(context, req, authentication);
  const session = exchange.session(granted, sessionId);
  const lastEventId = headerText(req, 'last-event-id');
  const last = lastEventId === undefined ? undefined : eventPositionOf(session, lastEventId);
  if (lastEventId !== undefined && !last)
    throw new GatehouseError(
      'invalid_request',
      'Last-Event-ID names no event of this session. Leave it out.',
    );
  beginEvents(res, { ...headers, 'Mcp-Session-Id': session.sessionId });
  const { endsAt } = granted;
  openStream(session, res, { last, endsAt, rights: () => rightsOf(context, req, path) });
}

async function preflight(
  context: Context,
  { req, res }: McpVisit,
  origin: string | undefined,
): Promise<void> {
  if (origin === undefined) throw notAllowed('OPTIONS');
  await assertOrigin(context, origin, undefined);
  sendEmpty(res, 204, {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Methods': METHODS,
    'Access-Control-Allow-Headers': [...HEADERS, ...paramHeadersIn(req)].join(', '),
    'Access-Control-Max-Age': '600',
    Vary: 'Origin',
  });
}

const HEADERS = [
  'Authorization',
  'Content-Type',
  'Accept',
  'Mcp-Session-Id',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'Last-Event-ID',
  'x-svc-userid',
  'x-svc-user-token',
  'x-credential-id',
  'x-redirect-uri',
];

/** Returns the requested headers of tool parameters. Any name is allowed, because only the tools know the names. */
function paramHeadersIn(req: IncomingMessage): string[] {
  const requested = headerText(req, 'access-control-request-headers')?.split(',') ?? [];
  return requested.map((name) => name.trim()).filter((name) => /^mcp-param-[\w-]{1,64}$/i.test(name));
}

/** Returns the current rights of a request that opened a stream. Throws what authentication and grantOf throw. */
async function rightsOf(context: Context, req: IncomingMessage, path: McpPath): Promise<Grant> {
  return grantOf(context, req, await authenticate(context, req, path));
}

function answerFault(
  context: Context,
  { req, res, requestId, id, headers, route }: McpVisit,
  thrown: unknown,
): void {
  const error = answerError(thrown);
  // A client that disconnects while it sends is not a fault of Gatehouse, so it is not logged.
  const hungUp = req.destroyed && !req.complete;
  if (hidesCause(error) && !hungUp) context.log.error({ requestId, route, err: thrown }, 'request failed');
  // The client may still be sending the rest of the body.
  if (!req.complete) headers['Connection'] = 'close';
  // The address itself is the credential here, so there is no scheme to offer.
  if (route.endsWith('{accessToken}')) delete error.headers['WWW-Authenticate'];
  if (!res.headersSent) sendRefusal(res, error, { requestId, id, headers });
  else res.destroy();
}

function parse(text: string): Json {
  try {
    return jsonFromBody(text);
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    throw new GatehouseError(error.code, error.message, { details: { parse: true }, cause: error });
  }
}

function batchOf(body: Json[], session: Session | undefined): Message[] {
  if (!session || session.protocolVersion > '2025-03-26') {
    throw new GatehouseError(
      'invalid_request',
      'Batches are not supported here. Send one JSON-RPC message per POST (MCP since 2025-06-18).',
    );
  }
  if (body.length === 0 || body.length > MAX_BATCH) {
    throw new GatehouseError('invalid_request', `A batch holds 1 to ${MAX_BATCH} messages.`);
  }
  return body.map(readMessage);
}

function assertVersion(req: IncomingMessage): void {
  const version = headerText(req, 'mcp-protocol-version');
  if (version === undefined || VERSIONS.includes(version)) return;
  throw new GatehouseError(
    'invalid_request',
    `MCP-Protocol-Version is not supported. Supported: ${VERSIONS.join(', ')}.`,
  );
}

function sessionIdOf(req: IncomingMessage): string | undefined {
  return headerText(req, 'mcp-session-id');
}

function notAllowed(method: string | undefined): GatehouseError {
  const inSessions = method === 'GET' || method === 'DELETE';
  return new GatehouseError(
    'method_not_allowed',
    `${method} is not allowed here${inSessions ? ' without a session (Mcp-Session-Id)' : ''}. Send JSON-RPC by POST.`,
    { headers: { Allow: METHODS } },
  );
}
