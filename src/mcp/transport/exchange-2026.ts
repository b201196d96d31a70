import type { Base } from '../../base.ts';
import { isJsonObject } from '../../lib/json.ts';
import { newestOf } from '../tools/events.ts';
import { answerOn, streamOf, type Flow, type Stream } from './answer-stream.ts';
import type { Grant } from '../tools/grant.ts';
import { mcp2026Inputs } from '../tools/input.ts';
import type { McpCall } from '../tools/mcp-call.ts';
import { sinkOf, filterOf, type EventSink, type Listeners } from './listeners.ts';
import { responseParts, type Answer, type RpcRequest } from '../protocol/message.ts';
import {
  INTERIM_OPENING,
  openingOf,
  readMcp2026,
  VERSION_2026,
  type Mcp2026Request,
} from '../protocol/mcp-2026.ts';
import { checkParamHeaders } from '../protocol/param-headers.ts';
import { whenClosed } from './reply.ts';
import { requestStates } from '../tools/request-state.ts';
import type { McpCore } from '../tools/server.ts';
import type { Watch } from './watch.ts';

const LISTEN = 'subscriptions/listen';
/** Before MCP 2026-07-28, "resource not found" had its own code. */
const OLD_NOT_FOUND = -32002;
/** JSON-RPC errors that have their own HTTP status; all others get 200. */
const STATUSES: { [code: number]: number } = { [-32021]: 400, [-32601]: 404 };

/** A request of MCP 2026-07-28 under way, on any transport. */
export interface Mcp2026Call {
  grant: Grant;
  requestId: string;
  signal: AbortSignal;
  /** Returns the caller's current rights, for a subscription. */
  rights: () => Promise<Grant>;
  /** Opens the sink for the messages of a subscription. */
  sink: () => EventSink;
}

/** Answers requests of MCP 2026-07-28. Each request holds everything that its answer needs. */
export interface Mcp2026Exchange {
  /** Answers a POST. */
  post(flow: Flow, request: RpcRequest, rights: () => Promise<Grant>): Promise<void>;
  /**
   * Answers a parsed request. Returns undefined when it opened a subscription. Rejects when the call's signal aborts.
   */
  answer(read: Mcp2026Request, stream: Pick<Stream, 'send'>, call: Mcp2026Call): Promise<Answer | undefined>;
}

export function createMcp2026Exchange(
  context: Pick<Base, 'db' | 'keys' | 'clock' | 'catalog' | 'log' | 'intervals'>,
  { core, listeners, watch }: { core: McpCore; listeners: Listeners; watch: Watch },
): Mcp2026Exchange {
  return {
    async post(flow, asked, rights) {
      const { res, headers, grant, requestId } = flow;
      const read = readMcp2026(asked, flow.req);
      const { method, id, params } = read.request;
      if (method === 'tools/call' && typeof params?.['name'] === 'string') {
        const { name, arguments: args } = params;
        const action = core.visible(grant).direct.get(name);
        if (action && isJsonObject(args)) checkParamHeaders(flow.req, action, args);
      }

      const stream = streamOf(flow);
      const gone = new AbortController();
      // On HTTP, a client cancels by closing the stream.
      whenClosed(res, () => {
        if (!res.writableFinished) gone.abort();
      });
      const sink = () => sinkOf(res, headers);
      try {
        const call = { grant, requestId, signal: gone.signal, rights, sink };
        const answer = await this.answer(read, stream, call);
        if (!answer) return;
        const status = 'error' in answer ? (STATUSES[answer.error.code] ?? 200) : 200;
        stream.finish(responseParts(id, answer), status);
      } catch (error) {
        if (!gone.signal.aborted) throw error;
      }
    },

    async answer({ request, abilities, logLevel, requestState, responses }, stream, call) {
      const { grant, requestId, signal } = call;
      const listen = request.method === LISTEN ? opener(request, call) : undefined;
      const states = requestStates(context, grant, request);
      const answer = await answerOn(
        stream,
        { context, core, watch },
        {
          request,
          logLevel,
          grant,
          requestId,
          signal,
          protocolVersion: VERSION_2026,
          listen,
          inputs: await mcp2026Inputs({ abilities, states, requestState, responses, signal }),
        },
      );
      if (listen && !('error' in answer)) return undefined;
      return mcp2026Answer(request.method, answer);
    },
  };

  /**
   * Admits a subscription. Returns the function that opens its stream.
   * @throws GatehouseError `request_meta_invalid`, `rate_limited`
   */
  function opener(request: RpcRequest, { grant, signal, rights, sink }: Mcp2026Call): McpCall['listen'] {
    const filter = filterOf(request);
    listeners.admit(grant);
    return async (canRead) => {
      const uris = filter.resourceSubscriptions;
      // The acknowledged filter names only addresses that the caller can read.
      if (uris) filter.resourceSubscriptions = await readable(uris, canRead);
      const newest = await newestOf(context, grant, { uris: filter.resourceSubscriptions ?? [] });
      // A client that left by now has fired its close event already, so its listener would never be removed.
      signal.throwIfAborted();
      const since = context.clock.now();
      listeners.open(sink(), { id: request.id, grant, filter, newest, since, rights });
    };
  }
}

function mcp2026Answer(method: string, answer: Answer): Answer {
  if ('error' in answer) {
    const { error } = answer;
    return error.code === OLD_NOT_FOUND ? { error: { ...error, code: -32602 } } : answer;
  }
  return { ...answer, opening: answer.interim ? INTERIM_OPENING : openingOf(method) };
}

async function readable(uris: string[], canRead: (uri: string) => Promise<boolean>): Promise<string[]> {
  // All at once, because a remote server may be slow.
  const canReads = await Promise.all(uris.map(canRead));
  return uris.filter((_, index) => canReads[index]);
}
