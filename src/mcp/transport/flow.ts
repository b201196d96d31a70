import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { Progress } from '../../upstream/call.ts';
import type { Grant } from '../tools/grant.ts';
import { isWanted, LOG_LEVELS, type LogLevel } from '../../lib/log-level.ts';
import type { RpcFault, RpcRequest } from '../protocol/message.ts';
import { beginEvents, eventText, sendJson, writeEvent, type Framing } from './reply.ts';
import { emit, finish, newStream, type Session } from './sessions.ts';

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

/** Where the messages go that precede an answer: an event stream, opened by the first of them. */
export interface Stream {
  opened(): boolean;
  send(message: object): void;
  /** Lets the client of a session go, which comes again for what follows (MCP 2025-11-25); others stay. */
  rest(): void;
  /** Sends the response; `status` counts where nothing preceded it. */
  finish(text: string, status?: number): void;
}

/** From this version on a server may close a stream before its answer. */
const FIRST_WITH_POLLING = '2025-11-25';
const COME_AGAIN_MS = 500;

/** JSON unless something precedes the answer or the client takes events alone; in a session events can be resumed. */
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
    rest() {
      if (!session || session.protocolVersion < FIRST_WITH_POLLING || open) return;
      begin();
      res.end(`retry: ${COME_AGAIN_MS}\n\n`);
    },
    finish(text, status = 200) {
      if (!open && framing.json) return sendJson(res, status, text, headers);
      begin();
      write(text);
      if (session && name !== undefined) finish(session, name);
      else res.end();
    },
  };
}

/** Progress for the token of a request; undefined when it brings none. */
export function progressOf(
  { params = {} }: RpcRequest,
  stream: Pick<Stream, 'send'>,
): ((progress: Progress) => void) | undefined {
  const meta = params['_meta'];
  const progressToken = isJsonObject(meta) ? meta['progressToken'] : undefined;
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined;
  return (progress) =>
    stream.send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, ...progress } });
}

/** A log message, for a client that wants those of `least` and above. */
export function log(
  stream: Pick<Stream, 'send'>,
  least: LogLevel | undefined,
  message: { level: LogLevel; logger?: string; data: unknown },
): void {
  if (least === undefined || !isWanted(message.level, least)) return;
  stream.send({ jsonrpc: '2.0', method: 'notifications/message', params: message });
}

/** What a client of a session is sent of an app's messages before it has set a level. */
export const USUAL_LEVEL: LogLevel = 'info';

/** The error of logging/setLevel for a level that is none. */
export function levelFault(): RpcFault {
  return { code: -32602, message: `params.level must be one of: ${LOG_LEVELS.join(', ')}` };
}

/** A line for clients that asked for log messages: which tool ran, and how it ended. */
export function logOutcome(
  stream: Pick<Stream, 'send'>,
  least: LogLevel | undefined,
  { method, params = {} }: { method: string; params?: JsonObject },
  failed: boolean,
): void {
  if (least === undefined || method !== 'tools/call') return;
  const data = { tool: params['name'], outcome: failed ? 'failed' : 'succeeded' };
  log(stream, least, { level: failed ? 'warning' : 'info', logger: 'gatehouse', data });
}
