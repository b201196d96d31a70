import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from '../context.ts';
import { elicitsOf, takesUrls } from './elicitation.ts';
import { eventScopeOf, newestEvent } from './events.ts';
import { GatehouseError } from '../lib/errors.ts';
import { isJsonObject, parseJson } from '../lib/json.ts';
import type { Progress } from '../upstream/call.ts';
import type { Grant } from './grant.ts';
import { initializeResult, negotiate } from './initialize.ts';
import type { Message, RpcRequest } from './message.ts';
import { beginEvents, eventText, sendEmpty, sendJson, sendResult, type Framing } from './reply.ts';
import type { McpCore } from './server.ts';
import { emit, finish, LOG_LEVELS, newStream, type Session, type Sessions } from './sessions.ts';

/** URL mode elicitation came with this version. */
const FIRST_WITH_URLS = '2025-11-25';

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

/** What a message leads to, bare or in a session, and how its answer is framed. */
export interface Exchange {
  one(flow: Flow, message: Message): Promise<void>;
  batch(flow: Flow, messages: Message[]): Promise<void>;
  /** @throws GatehouseError `session_not_found`: also for a session of somebody else. */
  session(grant: Grant, sessionId: string | undefined): Session;
  end(session: Session): void;
}

/** Where the messages go that precede an answer: an event stream, opened by the first of them. */
interface Stream {
  opened(): boolean;
  send(message: object): void;
  finish(text: string): void;
}

export function createExchange(
  context: Pick<Context, 'db' | 'clock' | 'log'>,
  core: McpCore,
  sessions: Sessions,
): Exchange {
  return {
    end: (session) => sessions.end(session),
    session(grant, sessionId) {
      const session = sessionId === undefined ? undefined : sessions.find(sessionId, grant);
      if (session) return session;
      throw new GatehouseError('session_not_found', 'There is no such session here. Initialize anew.');
    },
    async one(flow, message) {
      const { res, headers, session } = flow;
      if (message.kind !== 'request') {
        if (session) noted(session, message);
        return sendEmpty(res, 202, headers);
      }
      if (message.method === 'initialize') return initialize(flow, message.request);
      const listed = message.method === 'tools/list' && message.request.params?.['cursor'] === undefined;
      const list = listed && flow.framing.json ? core.toolList(flow.grant) : undefined;
      if (list) return sendResult(res, message.request.id, list, headers);
      const stream = streamOf(flow);
      const answer = await answerOf(flow, message.request, stream);
      if (answer !== undefined) stream.finish(answer);
      else if (!res.headersSent) sendEmpty(res, 202, headers);
      else res.end();
    },
    async batch(flow, messages) {
      const stream = streamOf(flow);
      const answers = await Promise.all(
        messages.map(async (message) => {
          if (message.kind === 'request') return answerOf(flow, message.request, stream);
          if (flow.session) noted(flow.session, message);
          return undefined;
        }),
      );
      const texts = answers.filter((answer) => answer !== undefined);
      if (texts.length === 0) return sendEmpty(flow.res, 202, flow.headers);
      stream.finish(`[${texts.join(',')}]`);
    },
  };

  function initialize({ res, headers, grant, session }: Flow, request: RpcRequest): void {
    if (session) throw new GatehouseError('invalid_request', 'This session is initialized already.');
    const version = negotiate(request.params?.['protocolVersion']);
    const takes = version >= FIRST_WITH_URLS && takesUrls(request.params?.['capabilities']);
    const made = sessions.create(grant, { protocolVersion: version, takesUrls: takes });
    const result = initializeResult(version, core.visible(grant).instructions);
    sendJson(res, 200, JSON.stringify({ jsonrpc: '2.0', id: request.id, result }), {
      ...headers,
      'Mcp-Session-Id': made.sessionId,
    });
  }

  /** The response as text; undefined when the client cancelled the request, which is then not answered. */
  async function answerOf(flow: Flow, request: RpcRequest, stream: Stream): Promise<string | undefined> {
    const { session, grant, requestId, res } = flow;
    const cancel = new AbortController();
    // A bare request, and an answer that could not be asked for again, end with their client.
    res.on('close', () => {
      if (!res.writableFinished && !(session && stream.opened())) cancel.abort();
    });
    session?.running.set(request.id, cancel);
    try {
      const own = await ownAnswer(session, request, flow, cancel.signal);
      if (own !== undefined) return JSON.stringify({ jsonrpc: '2.0', id: request.id, ...own });
      const onProgress = progressOf(request, stream);
      const { text, failed } = await core.answer(request, {
        grant,
        requestId,
        signal: cancel.signal,
        onProgress,
        ...(session?.takesUrls ? { elicits: elicitsOf(context, session, stream.send, cancel.signal) } : {}),
      });
      logToSession(session, stream, request, failed);
      return text;
    } catch (error) {
      if (cancel.signal.aborted) return undefined;
      throw error;
    } finally {
      session?.running.delete(request.id);
    }
  }

  /** Methods that concern the session itself, or nothing at all. */
  async function ownAnswer(
    session: Session | undefined,
    request: RpcRequest,
    flow: Flow,
    signal: AbortSignal,
  ) {
    const { params = {} } = request;
    switch (request.method) {
      case 'ping':
        return { result: {} };
      case 'logging/setLevel': {
        const level = LOG_LEVELS.find((one) => one === params['level']);
        if (!level)
          return {
            error: { code: -32602, message: `params.level must be one of: ${LOG_LEVELS.join(', ')}` },
          };
        if (session) session.logLevel = level;
        return { result: {} };
      }
      case 'resources/subscribe':
      case 'resources/unsubscribe': {
        const uri = params['uri'];
        if (typeof uri !== 'string')
          return { error: { code: -32602, message: 'params.uri must be a string' } };
        if (!session)
          return { error: { code: -32600, message: 'Subscriptions need a session: initialize first.' } };
        if (request.method === 'resources/unsubscribe') session.subscriptions.delete(uri);
        else {
          const read = await core.answer(
            { ...request, method: 'resources/read' },
            { grant: flow.grant, requestId: flow.requestId, signal },
          );
          if (read.failed) return readError(read.text);
          const scope = eventScopeOf(uri);
          if (scope && session.userId !== undefined) {
            const newest = await newestEvent(context, flow.grant.environment, session.userId, scope);
            session.newest.set(scope, newest);
          }
          session.subscriptions.add(uri);
        }
        return { result: {} };
      }
      default:
        return undefined;
    }
  }
}

/** The error member of a response text. */
function readError(text: string) {
  const response = parseJson(text);
  return { error: isJsonObject(response) ? (response['error'] ?? null) : null };
}

/** What needs no answer: the client's answers to us, and its notifications. */
function noted(session: Session, message: Exclude<Message, { kind: 'request' }>): void {
  if (message.kind === 'response') {
    session.asked.get(message.id ?? '')?.(message.result);
    return;
  }
  if (message.method !== 'notifications/cancelled') return;
  const id = message.params['requestId'];
  if (typeof id === 'string' || typeof id === 'number') session.running.get(id)?.abort();
}

function progressOf(request: RpcRequest, stream: Stream): ((progress: Progress) => void) | undefined {
  const meta = request.params?.['_meta'];
  const progressToken = isJsonObject(meta) ? meta['progressToken'] : undefined;
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined;
  return (progress) =>
    stream.send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, ...progress } });
}

/** A line for clients that asked for log messages: which tool ran, and how it ended. */
function logToSession(
  session: Session | undefined,
  stream: Stream,
  request: RpcRequest,
  failed: boolean,
): void {
  if (!session?.logLevel || request.method !== 'tools/call') return;
  const level = failed ? 'warning' : 'info';
  if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(session.logLevel)) return;
  const data = { tool: request.params?.['name'], outcome: failed ? 'failed' : 'succeeded' };
  stream.send({
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level, logger: 'gatehouse', data },
  });
}

/** JSON unless something precedes the answer or the client takes events alone; in a session events can be resumed. */
function streamOf({ res, headers, framing, session }: Flow): Stream {
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
    else if (!res.destroyed) res.write(eventText(text));
  };
  return {
    opened: () => open,
    send(message) {
      begin();
      write(JSON.stringify(message));
    },
    finish(text) {
      if (!open && framing.json) return sendJson(res, 200, text, headers);
      begin();
      write(text);
      if (session && name !== undefined) finish(session, name);
      else res.end();
    },
  };
}
