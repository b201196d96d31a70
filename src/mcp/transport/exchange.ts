import type { Base } from '../../base.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { answerOn, streamOf, type Flow, type Stream } from './answer-stream.ts';
import type { Grant } from '../scope/grant.ts';
import { clientOf } from '../protocol/initialize.ts';
import {
  responseParts,
  responseText,
  type RpcResponse,
  type Message,
  type RpcRequest,
} from '../protocol/message.ts';
import type { Mcp2026Exchange } from './exchange-2026.ts';
import { sendEmpty, sendJson, whenClosed } from './reply.ts';
import type { McpCore } from '../server/server.ts';
import type { Session, Sessions } from './client-sessions.ts';
import type { Watch } from './watch.ts';

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
  context: Pick<Base, 'db' | 'clock' | 'log' | 'keys' | 'catalog' | 'intervals'>,
  core: McpCore,
  { sessions, watch, mcp2026 }: { sessions: Sessions; watch: Watch; mcp2026: Mcp2026Exchange },
): Exchange {
  return {
    end: (session) => sessions.end(session),
    session(grant, sessionId) {
      const session = sessionId === undefined ? undefined : sessions.find(sessionId, grant);
      if (session) return session;
      throw new GatehouseError('session_not_found', 'There is no such session here. Initialize again.');
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
      const stream = streamOf(flow);
      const answer = await answerOf(flow, request, stream);
      if (answer !== undefined) stream.finish(responseParts(request.id, answer));
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

  async function initialize(flow: Flow, request: RpcRequest): Promise<void> {
    const { res, headers, grant, requestId, session } = flow;
    if (session) throw new GatehouseError('invalid_request', 'This session is initialized already.');
    const client = clientOf(request);
    const { protocolVersion } = client;
    const { signal } = new AbortController();
    const answer = await core.answer(request, { grant, requestId, signal, protocolVersion });
    const own: Record<string, string> =
      'error' in answer ? {} : { 'Mcp-Session-Id': sessions.create(grant, client).sessionId };
    sendJson(res, 200, { body: responseText(request.id, answer), headers: { ...headers, ...own } });
  }

  /** Answers a request. Returns undefined when the client cancelled it, because cancelled requests get no answer. */
  async function answerOf(flow: Flow, request: RpcRequest, stream: Stream): Promise<RpcResponse | undefined> {
    const { session, grant, requestId, res } = flow;
    const cancel = new AbortController();
    // A disconnect cancels the request unless its client can resume the stream in a session.
    whenClosed(res, () => {
      if (!res.writableFinished && !(session && stream.opened())) cancel.abort();
    });
    session?.running.set(request.id, cancel);
    try {
      const { signal } = cancel;
      const call = { request, grant, requestId, signal, client: session, onWait: stream.closeForPolling };
      return await answerOn(stream, { context, core, watch }, call);
    } catch (error) {
      if (cancel.signal.aborted) return undefined;
      throw error;
    } finally {
      session?.running.delete(request.id);
    }
  }
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
