import type { Base } from '../../base.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { newestOf } from '../answers/events.ts';
import { answerOn, streamOf, type Flow, type Stream } from './answer-stream.ts';
import { ownerOf, type Grant } from '../scope/grant.ts';
import { mcp2026Inputs } from '../scope/input.ts';
import type { McpCall } from '../scope/mcp-call.ts';
import { tasksMissing } from '../protocol/task-extension.ts';
import { sinkOf, filterOf, type EventSink, type Listeners } from './listeners.ts';
import { responseParts, type RpcResponse, type RpcRequest } from '../protocol/message.ts';
import {
  INTERIM_OPENING,
  openingOf,
  readMcp2026,
  VERSION_2026,
  type Mcp2026Request,
} from '../protocol/mcp-2026.ts';
import { checkParamHeaders } from '../protocol/param-headers.ts';
import { whenClosed } from './reply.ts';
import { requestStates } from '../scope/request-state.ts';
import type { McpCore } from '../server/server.ts';
import { taskView } from '../server/task-methods.ts';
import { readTask } from '../scope/task-rows.ts';
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
  answer(
    read: Mcp2026Request,
    stream: Pick<Stream, 'send'>,
    call: Mcp2026Call,
  ): Promise<RpcResponse | undefined>;
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

    async answer(read, stream, call) {
      const { request, takesTasks } = read;
      const { grant, signal } = call;
      const listen = request.method === LISTEN ? opener(read, call) : undefined;
      if (request.method === 'tools/call' && takesTasks) {
        const made = await core.runningTasks.run(grant, signal, (task) => {
          // A task has no stream: its progress, logs and answer reach no client by messages.
          const send = (message: object) => {
            if (!task.isTask) stream.send(message);
          };
          return answerOf(read, { send }, { ...call, signal: task.signal, task });
        });
        return 'task' in made ? taskAnswer(taskView(made.task)) : mcp2026Answer(request.method, made.answer);
      }
      const answer = await answerOf(read, stream, { ...call, listen });
      if (listen && !('error' in answer)) return undefined;
      return mcp2026Answer(request.method, answer);
    },
  };

  async function answerOf(
    { request, abilities, logLevel, requestState, responses }: Mcp2026Request,
    stream: Pick<Stream, 'send'>,
    {
      grant,
      requestId,
      signal,
      listen,
      task,
    }: Pick<McpCall, 'grant' | 'requestId' | 'signal' | 'listen' | 'task'>,
  ): Promise<RpcResponse> {
    const states = requestStates(context, grant, request);
    const inputs = await mcp2026Inputs({ abilities, states, requestState, responses, signal, task });
    const asked = { request, logLevel, grant, requestId, signal, listen, inputs, task };
    const answer = await answerOn(
      stream,
      { context, core, watch },
      { ...asked, protocolVersion: VERSION_2026 },
    );
    return 'error' in answer && answer.error.code === OLD_NOT_FOUND
      ? { error: { ...answer.error, code: -32602 } }
      : answer;
  }

  /**
   * Admits a subscription. Returns the function that opens its stream.
   * @throws GatehouseError `request_meta_invalid`, `rate_limited`; `client_capability_missing` for tasks without the
   * extension.
   */
  function opener(
    { request, takesTasks }: Mcp2026Request,
    { grant, signal, rights, sink }: Mcp2026Call,
  ): McpCall['listen'] {
    const filter = filterOf(request);
    if (filter.taskIds && !takesTasks) throw tasksMissing('A notification of tasks');
    listeners.admit(grant);
    return async (canRead) => {
      const uris = filter.resourceSubscriptions;
      // The acknowledged filter names only addresses that the caller can read.
      if (uris) filter.resourceSubscriptions = await readable(uris, canRead);
      // Likewise only tasks of this caller.
      if (filter.taskIds) filter.taskIds = await ownTasks(context, grant, filter.taskIds);
      const newest = await newestOf(context, grant, { uris: filter.resourceSubscriptions ?? [] });
      // A client that left by now has fired its close event already, so its listener would never be removed.
      signal.throwIfAborted();
      const since = context.clock.now();
      listeners.open(sink(), { id: request.id, grant, filter, newest, since, rights });
    };
  }
}

function mcp2026Answer(method: string, answer: RpcResponse): RpcResponse {
  if ('error' in answer) return answer;
  return { ...answer, opening: answer.interim ? INTERIM_OPENING : openingOf(method) };
}

/** Returns the answer to a call that became a task (CreateTaskResult). */
function taskAnswer(task: JsonObject): RpcResponse {
  const result = JSON.stringify({ resultType: 'task', ...task });
  return { result, failed: false, interim: true, opening: INTERIM_OPENING };
}

/** Returns those of the tasks that the caller owns. */
async function ownTasks(
  context: Parameters<typeof readTask>[0],
  grant: Grant,
  taskIds: string[],
): Promise<string[]> {
  const found = await Promise.all(taskIds.map((taskId) => readTask(context, ownerOf(grant), taskId)));
  return found.flatMap((row) => (row ? [row.task_id] : []));
}

async function readable(uris: string[], canRead: (uri: string) => Promise<boolean>): Promise<string[]> {
  // All at once, because a remote server may be slow.
  const canReads = await Promise.all(uris.map(canRead));
  return uris.filter((_, index) => canReads[index]);
}
