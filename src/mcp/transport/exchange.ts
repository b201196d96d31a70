import type { Base } from '../../base.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { abilitiesOf } from '../protocol/abilities.ts';
import { sessionInputs } from '../tools/elicitation.ts';
import { newestOf } from '../tools/events.ts';
import {
  levelFault,
  log,
  logOutcome,
  progressOf,
  streamOf,
  USUAL_LEVEL,
  type Flow,
  type Stream,
} from './flow.ts';
import type { Grant } from '../tools/grant.ts';
import { initializeResult, negotiate } from '../protocol/initialize.ts';
import type { Listeners } from './listeners.ts';
import { LOG_LEVELS } from '../../lib/log-level.ts';
import {
  hasFailed,
  responseText,
  type Answer,
  type Message,
  type RpcFault,
  type RpcRequest,
} from '../protocol/message.ts';
import { createMcp2026Exchange } from './exchange-2026.ts';
import { sendEmpty, sendJson, sendResult, whenClosed } from './reply.ts';
import type { McpCore } from '../tools/server.ts';
import type { Session, Sessions } from './sessions.ts';
import { traceOf } from '../protocol/trace.ts';
import type { Watch } from './watch.ts';

const MAX_SUBSCRIPTIONS = 1000;
const NOTHING: Answer = { result: '{}', failed: false };

/** Handles a message of each MCP version: runs it and frames its answer. */
export interface Exchange {
  /**
   * Handles one message. A message of MCP 2026-07-28 comes with `rights`, which returns the caller's current rights.
   */
  one(flow: Flow, message: Message, rights?: () => Promise<Grant>): Promise<void>;
  batch(flow: Flow, messages: Message[]): Promise<void>;
  /** @throws GatehouseError `session_not_found`: also for another caller's session. */
  session(grant: Grant, sessionId: string | undefined): Session;
  end(session: Session): void;
}

export function createExchange(
  context: Pick<Base, 'db' | 'clock' | 'log' | 'keys' | 'catalog'>,
  core: McpCore,
  { sessions, listeners, watch }: { sessions: Sessions; listeners: Listeners; watch: Watch },
): Exchange {
  const mcp2026 = createMcp2026Exchange(context, { core, listeners, watch });
  return {
    end: (session) => sessions.end(session),
    session(grant, sessionId) {
      const session = sessionId === undefined ? undefined : sessions.find(sessionId, grant);
      if (session) return session;
      throw new GatehouseError('session_not_found', 'There is no such session here. Initialize anew.');
    },
    async one(flow, message, rights) {
      const { res, headers, session } = flow;
      if (message.kind !== 'request') {
        if (session) noted(session, message);
        return sendEmpty(res, 202, headers);
      }
      const { request } = message;
      if (rights) return mcp2026.post(flow, request, rights);
      if (request.method === 'initialize') return initialize(flow, request);
      const listed = request.method === 'tools/list' && request.params?.['cursor'] === undefined;
      const result = listed && flow.framing.json ? await core.toolList(flow.grant) : undefined;
      if (result) return sendResult(res, request.id, { answer: { result }, headers });
      const stream = streamOf(flow);
      const answer = await answerOf(flow, request, stream);
      if (answer !== undefined) stream.finish(responseText(request.id, answer));
      else if (!res.headersSent) sendEmpty(res, 202, headers);
      else res.end();
    },
    async batch(flow, messages) {
      const stream = streamOf(flow);
      const answers = await Promise.all(
        messages.map(async (message) => {
          if (message.kind === 'request') {
            const answer = await answerOf(flow, message.request, stream);
            return answer && responseText(message.request.id, answer);
          }
          if (flow.session) noted(flow.session, message);
          return undefined;
        }),
      );
      const texts = answers.filter((answer) => answer !== undefined);
      if (texts.length === 0) return sendEmpty(flow.res, 202, flow.headers);
      stream.finish(`[${texts.join(',')}]`);
    },
  };

  function initialize({ res, headers, grant, session }: Flow, { id, params = {} }: RpcRequest): void {
    if (session) throw new GatehouseError('invalid_request', 'This session is initialized already.');
    const protocolVersion = negotiate(params['protocolVersion']);
    const abilities = abilitiesOf(protocolVersion, params['capabilities']);
    const made = sessions.create(grant, { protocolVersion, abilities });
    const result = initializeResult(protocolVersion, core.visible(grant).instructions);
    sendJson(res, 200, {
      text: responseText(id, { result: JSON.stringify(result), failed: false }),
      headers: {
        ...headers,
        'Mcp-Session-Id': made.sessionId,
      },
    });
  }

  /** Answers a request. Returns undefined when the client cancelled it, because cancelled requests get no answer. */
  async function answerOf(flow: Flow, request: RpcRequest, stream: Stream): Promise<Answer | undefined> {
    const { session, grant, requestId, res } = flow;
    const cancel = new AbortController();
    // A disconnect cancels the request unless its client can resume the stream in a session.
    whenClosed(res, () => {
      if (!res.writableFinished && !(session && stream.opened())) cancel.abort();
    });
    session?.running.set(request.id, cancel);
    try {
      const own = await ownAnswer(session, request, { flow, signal: cancel.signal });
      if (own) return own;
      const answer = await core.answer(request, {
        grant,
        requestId,
        signal: cancel.signal,
        trace: traceOf(request),
        onProgress: progressOf(request, stream),
        onWait: stream.rest,
        onChanged: (lists) => watch.announce(grant.live.server.serverId, lists),
        ...(session ? { inputs: sessionInputs(context, session, stream.send, cancel.signal) } : {}),
        ...(session ? { onLog: (message) => log(stream, session.logLevel ?? USUAL_LEVEL, message) } : {}),
      });
      logOutcome(stream, session?.logLevel, { request, failed: hasFailed(answer) });
      return answer;
    } catch (error) {
      if (cancel.signal.aborted) return undefined;
      throw error;
    } finally {
      session?.running.delete(request.id);
    }
  }

  /** Answers methods that concern only the session. */
  async function ownAnswer(
    session: Session | undefined,
    request: RpcRequest,
    { flow: { grant, requestId }, signal }: { flow: Flow; signal: AbortSignal },
  ): Promise<Answer | undefined> {
    const { params = {} } = request;
    switch (request.method) {
      case 'ping':
        return NOTHING;
      case 'logging/setLevel': {
        const level = LOG_LEVELS.find((one) => one === params['level']);
        if (!level) return fault(requestId, levelFault());
        if (session) session.logLevel = level;
        return NOTHING;
      }
      case 'resources/subscribe':
      case 'resources/unsubscribe': {
        const uri = params['uri'];
        if (typeof uri !== 'string')
          return fault(requestId, { code: -32602, message: 'params.uri must be a string' });
        if (!session)
          return fault(requestId, {
            code: -32600,
            message: 'Subscriptions need a session: initialize first.',
          });
        if (request.method === 'resources/unsubscribe') {
          session.subscriptions.delete(uri);
          return NOTHING;
        }
        const missing = await core.resourceFault(uri, { grant, requestId, signal });
        if (missing) return { error: missing };
        if (session.subscriptions.size >= MAX_SUBSCRIPTIONS && !session.subscriptions.has(uri))
          return fault(requestId, {
            code: -32602,
            message: `A session subscribes to at most ${MAX_SUBSCRIPTIONS} resources.`,
          });
        for (const [scope, event] of await newestOf(context, grant, [uri])) session.newest.set(scope, event);
        session.subscriptions.add(uri);
        return NOTHING;
      }
      default:
        return undefined;
    }
  }
}

function fault(requestId: string, { code, message }: RpcFault): Answer {
  return { error: { code, message, data: { code: 'invalid_request', requestId } } };
}

/** Handles messages that get no answer: the client's answers to us, and its notifications. */
function noted(session: Session, message: Exclude<Message, { kind: 'request' }>): void {
  if (message.kind === 'response') {
    session.asked.get(message.id ?? '')?.(message.result);
    return;
  }
  if (message.method !== 'notifications/cancelled') return;
  const id = message.params['requestId'];
  if (typeof id === 'string' || typeof id === 'number') session.running.get(id)?.abort();
}
