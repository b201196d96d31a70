import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Base } from '../../base.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { traceIn } from '../../telemetry/trace-context.ts';
import type { TraceHeaders } from '../../telemetry/tracing.ts';
import type { Progress } from '../../upstream/upstream-call.ts';
import { sessionInputs, type Askable } from '../scope/elicitation.ts';
import type { Grant } from '../scope/grant.ts';
import type { Connection, McpCall } from '../scope/mcp-call.ts';
import type { McpCore } from '../server/server.ts';
import { isWanted, type LogLevel } from '../../lib/log-level.ts';
import { hasFailed, type RpcResponse, type RpcRequest } from '../protocol/message.ts';
import { beginEvents, eventText, sendJson, writeEvent, type Framing } from './reply.ts';
import { emit, finish, newStream, type Session } from './client-sessions.ts';
import type { Watch } from './watch.ts';

/** A POST that passed every check of the endpoint. */
export interface Flow {
  req: IncomingMessage;
  res: ServerResponse;
  requestId: string;
  headers: Record<string, string>;
  framing: Framing;
  grant: Grant;
  session: Session | undefined;
}

/** An event stream for the messages that precede an answer. The first message opens it. */
export interface Stream {
  opened(): boolean;
  send(message: object): void;
  /** Closes the stream of a session. Its client reconnects for the answer (MCP 2025-11-25). No session: no effect. */
  closeForPolling(): void;
  /** Sends the response, text or parts. `status` applies when no message preceded the response. */
  finish(body: string | Buffer[], status?: number): void;
}

/** Since this version, a server may close a stream before its answer. */
const FIRST_WITH_POLLING = '2025-11-25';
const RETRY_MS = 500;

/**
 * Returns the stream of a POST. The answer is JSON unless messages precede it or the client accepts only events.
 * Events of a session can be resumed.
 */
export function streamOf({ res, headers, framing, session }: Flow): Stream {
  let name: string | undefined;
  let open = false;
  const begin = () => {
    if (open || res.destroyed) return;
    open = true;
    beginEvents(res, session ? { ...headers, 'Mcp-Session-Id': session.sessionId } : headers);
    if (session) name = newStream(session, res);
  };
  const write = (text: string) => {
    if (session && name !== undefined) emit(session, name, text);
    else writeEvent(res, eventText(text));
  };
  return {
    opened: () => open,
    send(message) {
      begin();
      write(JSON.stringify(message));
    },
    closeForPolling() {
      if (!session || session.protocolVersion < FIRST_WITH_POLLING || open) return;
      begin();
      res.end(`retry: ${RETRY_MS}\n\n`);
    },
    finish(body, status = 200) {
      if (!open && framing.json) return sendJson(res, status, { body, headers });
      begin();
      write(typeof body === 'string' ? body : Buffer.concat(body).toString());
      if (session && name !== undefined) finish(session, name);
      else res.end();
    },
  };
}

/** The parts of a transport that answer requests. */
interface AnswerContext {
  context: Pick<Base, 'db' | 'clock' | 'log' | 'intervals'>;
  core: McpCore;
  watch: Watch;
}

/** A request with its client, or, without a connection, with its own log level. */
type AnsweredRequest = Omit<McpCall, 'connection' | 'trace' | 'onProgress' | 'onLog' | 'onChanged'> & {
  request: RpcRequest;
  client?: (Askable & Connection) | undefined;
  logLevel?: LogLevel | undefined;
};

/**
 * Answers a request. Its progress, log messages and questions precede the answer on the stream. Rejects when the
 * call's signal aborts.
 */
export async function answerOn(
  stream: Pick<Stream, 'send'>,
  { context, core, watch }: AnswerContext,
  { request, client, logLevel, ...call }: AnsweredRequest,
): Promise<RpcResponse> {
  const { send } = stream;
  const answer = await core.answer(request, {
    ...call,
    trace: traceOf(request),
    onProgress: progressOf(request, stream),
    onLog: (message) => log(stream, client ? (client.logLevel ?? DEFAULT_LEVEL) : logLevel, message),
    onChanged: (lists) => watch.announce(call.grant.live.server.serverId, lists),
    ...(client
      ? { connection: client, inputs: sessionInputs(context, client, { send, signal: call.signal }) }
      : {}),
  });
  logOutcome(stream, client ? client.logLevel : logLevel, { request, failed: hasFailed(answer) });
  return answer;
}

/** Returns a function that sends progress for the request's token; undefined when the request has no token. */
function progressOf(
  { params = {} }: RpcRequest,
  stream: Pick<Stream, 'send'>,
): ((progress: Progress) => void) | undefined {
  const meta = params['_meta'];
  const progressToken = isJsonObject(meta) ? meta['progressToken'] : undefined;
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined;
  return (progress) =>
    stream.send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, ...progress } });
}

/** Sends a log message to a client that wants messages of level `minLevel` and above. */
function log(
  stream: Pick<Stream, 'send'>,
  minLevel: LogLevel | undefined,
  message: { level: LogLevel; logger?: string; data: unknown },
): void {
  if (minLevel === undefined || !isWanted(message.level, minLevel)) return;
  stream.send({ jsonrpc: '2.0', method: 'notifications/message', params: message });
}

/** The lowest level of an app's messages that a session gets before its client sets a level. */
const DEFAULT_LEVEL: LogLevel = 'info';

/** Sends a log message that names the tool and its outcome, to clients that asked for log messages. */
function logOutcome(
  stream: Pick<Stream, 'send'>,
  minLevel: LogLevel | undefined,
  {
    request: { method, params = {} },
    failed,
  }: { request: { method: string; params?: JsonObject }; failed: boolean },
): void {
  if (minLevel === undefined || method !== 'tools/call') return;
  const data = { tool: params['name'], outcome: failed ? 'failed' : 'succeeded' };
  log(stream, minLevel, { level: failed ? 'warning' : 'info', logger: 'gatehouse', data });
}

/** Returns the trace of a request. */
function traceOf({ params = {} }: RpcRequest): TraceHeaders | undefined {
  const meta = params['_meta'];
  return isJsonObject(meta) ? traceIn(meta) : undefined;
}
