import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type Result,
} from '@modelcontextprotocol/sdk/types.js';
import type { Context } from '../context.ts';
import { SECOND } from '../../lib/clock.ts';
import { loadOnce } from '../../lib/memo.ts';
import { UNKNOWN } from '../../telemetry/metrics.ts';
import { cancelled, type RpcResponse, type RpcRequest } from '../protocol/message.ts';
import { CAPABILITIES, SERVER_INFO } from '../protocol/initialize.ts';
import { paramsFault } from '../protocol/params.ts';
import { callTool } from '../tools/call-tool.ts';
import type { Grant } from '../scope/grant.ts';
import { InputRequired } from '../scope/input.ts';
import type { McpCall } from '../scope/mcp-call.ts';
import { fallback, METHODS, registerMethods } from './methods.ts';
import { Rendered } from '../answers/rendered.ts';
import { toRpcError } from '../answers/rpc-error.ts';
import { createRemoteSubscriptions, type RemoteSubscriptions } from '../resources/remote-subscriptions.ts';
import type { SearchActions } from '../../search/action-search.ts';
import type { ToolScope } from '../scope/tool.ts';
import type { Visible } from '../scope/visible-types.ts';
import { createViewDocument } from '../scope/view-document.ts';
import { createVisibility } from '../tools/visible.ts';
import { createRunningTasks, type RunningTasks } from '../scope/running-tasks.ts';
import { createWaitingCalls } from '../scope/waiting-calls.ts';
import { warmUp } from './warm-up.ts';
import { createWorkflowTools } from '../tools/workflow-tools.ts';

/** Answers every method of every transport and MCP version, through the one long-lived server of the official SDK. */
export interface McpCore {
  /** Answers a request. Rejects only when the call's signal aborts. */
  answer(request: RpcRequest, call: McpCall): Promise<RpcResponse>;
  visible(grant: Grant): Visible;
  readonly remoteSubscriptions: Pick<RemoteSubscriptions, 'attend'>;
  readonly runningTasks: Pick<RunningTasks, 'run' | 'drain'>;
  /** Runs the code of a call before the first client. It counts as no request. */
  warmUp(): Promise<void>;
  close(): Promise<void>;
}

/** A request that the SDK has not answered yet. */
interface Running {
  readonly call: McpCall;
  /** The arguments of a tool as they came. The SDK hands out copies, without the exact numbers. */
  readonly given: unknown;
  readonly answered: (answer: RpcResponse) => void;
  /** The answer as JSON, sent instead of the SDK's; undefined when the SDK's is sent. */
  own: RpcResponse | undefined;
}

/** Placeholder for a result that is already JSON text, because the SDK would parse and copy a real result. */
const NOTHING_TO_COPY = { content: [] };

/** Replaces the validator of the SDK, whose Ajv takes 3 ms to load. Gatehouse does not ask clients through the SDK. */
const NO_VALIDATOR = {
  getValidator: () => {
    throw new Error('The SDK asks no client here.');
  },
};

export async function createMcpCore(context: Context): Promise<McpCore> {
  const { clock, log } = context;
  const parts = createParts(context);
  const { visibility, waitingCalls, runningTasks } = parts;
  /** By the ids that the SDK gets. The ids of two clients may be equal. */
  const running = new Map<number, Running>();
  let lastId = 0;

  const scopeOf = (call: McpCall): ToolScope => {
    const scope: ToolScope = {
      ...call,
      ...parts,
      visible: visibility.of(call.grant.live),
      follow: (uri) => remoteSubscriptions.follow(scope, uri),
      unfollow: (uri) => remoteSubscriptions.unfollow(call.grant, uri),
      corrections: [],
    };
    return scope;
  };
  const remoteSubscriptions = createRemoteSubscriptions({ clock, log, scopeOf }, visibility);

  /** Runs a handler for a running request. Errors become JSON-RPC errors with the contract's codes. */
  const handled = async (
    id: string | number,
    handle: (scope: ToolScope, running: Running) => Result | Rendered | Promise<Result | Rendered>,
  ): Promise<Result> => {
    const request = running.get(Number(id));
    if (!request) throw new Error('The SDK runs a request that it was not given.');
    const { call } = request;
    try {
      const result = await handle(scopeOf(call), request);
      if (!(result instanceof Rendered)) return result;
      request.own = result;
    } catch (thrown) {
      // A cancelled request gets no answer.
      if (call.signal.aborted) throw thrown;
      if (!(thrown instanceof InputRequired)) throw toRpcError(context, thrown, call.requestId);
      request.own = { result: JSON.stringify(thrown.result), failed: false, interim: true };
    }
    return NOTHING_TO_COPY;
  };

  const server = new Server(SERVER_INFO, { capabilities: CAPABILITIES, jsonSchemaValidator: NO_VALIDATOR });
  registerMethods((schema, handle) =>
    server.setRequestHandler(schema, (request, { requestId }) =>
      handled(requestId, (scope, { call }) => handle(request, scope, call)),
    ),
  );
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { requestId }) =>
    handled(requestId, (scope, { given }) => callTool(scope, params.name, given)),
  );
  server.fallbackRequestHandler = (request, { requestId }) =>
    handled(requestId, (scope, { call }) => fallback(request, scope, call));

  /** The in-process transport that all requests share. */
  const pipe: Transport = {
    start: async () => {},
    close: async () => pipe.onclose?.(),
    async send(message: JSONRPCMessage) {
      if (!('id' in message) || message.id === undefined) return;
      const request = running.get(Number(message.id));
      if ('error' in message) request?.answered({ error: message.error });
      else if ('result' in message)
        request?.answered(request.own ?? { result: JSON.stringify(message.result), failed: false });
    },
  };
  await server.connect(pipe);

  const ask = (request: RpcRequest, call: McpCall): Promise<RpcResponse> =>
    new Promise((resolve, reject) => {
      const { signal } = call;
      if (signal.aborted) return reject(cancelled());
      const answered = (answer: RpcResponse) => {
        running.delete(id);
        if (signal.aborted) reject(cancelled());
        else resolve(answer);
      };
      const id = ++lastId;
      const message = { ...forSdk(request), id };
      // The SDK would never answer such a message.
      if (!isJSONRPCRequest(message))
        return resolve(invalidParams(call, 'params._meta is not as MCP has it'));
      running.set(id, { call, given: request.params?.['arguments'] ?? {}, answered, own: undefined });
      pipe.onmessage?.(message);
    });

  return {
    visible: (grant) => visibility.of(grant.live),
    remoteSubscriptions,
    runningTasks,
    answer(asked, call) {
      const request = withoutTask(asked);
      const fault = paramsFault(request);
      return observed(context, { request, call }, () =>
        fault === undefined ? ask(request, call) : invalidParams(call, fault),
      );
    },
    warmUp: () => warmUp(context, ask),
    async close() {
      await runningTasks.close();
      waitingCalls.close();
      remoteSubscriptions.close();
      await server.close();
    },
  };
}

/** Creates the parts that every run of a tool gets. */
function createParts(context: Context) {
  return {
    context,
    visibility: createVisibility(context),
    waitingCalls: createWaitingCalls(),
    runningTasks: createRunningTasks(context),
    searchActions: searchOnDemand(context),
    workflowTools: createWorkflowTools(context),
    viewDocument: createViewDocument(),
  };
}

/** Creates a search whose code is loaded by the first request, because the words of five languages slow a start. */
function searchOnDemand(context: Context): SearchActions {
  const search = loadOnce(async () =>
    (await import('../../search/action-search.ts')).createActionSearch(context),
  );
  return async (environment, request) => (await search())(environment, request);
}

/**
 * Counts a request by the outcome of its work, and records its span. Names are those of OpenTelemetry's semantic conventions
 * for MCP.
 */
function observed(
  { telemetry }: Pick<Context, 'telemetry'>,
  { request, call }: { request: RpcRequest; call: McpCall },
  work: () => RpcResponse | Promise<RpcResponse>,
): Promise<RpcResponse> {
  const method = METHODS.has(request.method) ? request.method : UNKNOWN;
  const attributes = { 'mcp.method.name': method };
  return telemetry.span({ name: method, kind: 'server', attributes, parent: call.trace }, async (span) => {
    const startedAt = performance.now();
    let outcome = 'cancelled';
    try {
      const answer = await work();
      outcome = outcomeOf(answer);
      if (outcome === 'tool_failed') span.fail('tool_error');
      if ('error' in answer) span.fail(String(answer.error.code));
      return answer;
    } finally {
      telemetry.mcpRequests.count(method, outcome);
      telemetry.mcpDuration.observe((performance.now() - startedAt) / SECOND, method);
    }
  });
}

function outcomeOf(answer: RpcResponse): string {
  if ('error' in answer) return 'failed';
  if (answer.interim) return 'input_required';
  return answer.failed ? 'tool_failed' : 'succeeded';
}

function invalidParams({ requestId }: McpCall, message: string): RpcResponse {
  return { error: { code: -32602, message, data: { code: 'invalid_request', requestId } } };
}

/** Leaves out arguments that are a text, as some models write them. The SDK would refuse them. */
function forSdk(request: RpcRequest): RpcRequest {
  if (typeof request.params?.['arguments'] !== 'string') return request;
  const { arguments: _, ...params } = request.params;
  return { ...request, params };
}

/** Removes a task, which only concerns servers that declare tasks; others ignore it (MCP 2025-11-25). */
function withoutTask(request: RpcRequest): RpcRequest {
  if (request.params?.['task'] === undefined) return request;
  const { task: _, ...params } = request.params;
  return { ...request, params };
}
