import type { JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import type { Context } from '../context.ts';
import { severalAccounts } from '../../credentials/choices.ts';
import { answerError, GatehouseError, hidesCause } from '../../lib/errors.ts';
import { writtenOut } from '../../lib/hidden.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { didYouMean } from '../../lib/words.ts';
import { directArguments } from './action-call.ts';
import type { Grant } from './grant.ts';
import { InputRequired } from './input.ts';
import { cancelled, type Answer, type RpcFault } from '../protocol/message.ts';
import type { SdkServer } from './sdk.ts';
import { messageOf, nextStep } from './next-steps.ts';
import { sizingOf, toErrorResult, toResultText } from './results.ts';
import { createActionSearch, indexMaker } from './search.ts';
import { runAction } from './run-action.ts';
import { restricted } from './names.ts';
import { BUILT_IN_BY_NAME } from './tools.ts';
import type { ToolScope } from './tool.ts';
import { TOOLS_A_PAGE, type ToolDefinition } from './tool-definition.ts';
import { TRACE_MEMBERS } from '../protocol/trace.ts';
import { createVisibility } from './visible.ts';
import type { Visible } from './visibility.ts';
import { createWorkflowTools, listed, runWorkflow } from './workflow-tools.ts';
import type { WorkflowTool } from './workflow-tool.ts';
import type { McpCall } from './mcp-call.ts';

/** Handles all MCP traffic of the process. */
export interface McpCore {
  /** Answers a request. Rejects only when the call's signal aborts. */
  answer(request: JSONRPCRequest, call: McpCall): Promise<Answer>;
  /** Returns the result of tools/list as JSON bytes; undefined when the list has several pages. */
  toolList(grant: Grant): Promise<Buffer | undefined>;
  /** Returns why a caller cannot subscribe to a resource; undefined when it can. */
  resourceFault(uri: string, call: McpCall): Promise<RpcFault | undefined>;
  visible(grant: Grant): Visible;
  close(): Promise<void>;
}

/** An error with the numeric code of JSON-RPC. The SDK copies `code`, `message` and `data`. */
class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown, cause: unknown) {
    super(message, { cause });
    this.code = code;
    this.data = data;
  }
}

const UNKNOWN_METHOD = -32601;

export function createMcpCore(context: Context): McpCore {
  const visibility = createVisibility(context);
  const searchActions = createActionSearch(context, indexMaker(context));
  const workflowTools = createWorkflowTools(context);
  const calls = new Map<string | number, McpCall>();

  const scopeOf = (call: McpCall): ToolScope => ({
    context,
    grant: call.grant,
    visible: visibility.of(call.grant.live),
    visibility,
    searchActions,
    workflowTools,
    corrections: [],
    requestId: call.requestId,
    signal: call.signal,
    onProgress: call.onProgress,
    onLog: call.onLog,
    onChanged: call.onChanged,
    onWait: call.onWait,
    inputs: call.inputs,
    trace: call.trace,
  });

  /** Runs a handler with the scope of a running request. Errors become JSON-RPC errors with the contract's codes. */
  const handled = async <T>(
    id: string | number,
    handle: (scope: ToolScope, call: McpCall) => T | Promise<T>,
  ): Promise<T> => {
    const call = calls.get(id);
    if (!call) throw new RpcError(-32603, 'The request is not known here.', undefined, undefined);
    try {
      return await handle(scopeOf(call), call);
    } catch (thrown) {
      if (!(thrown instanceof InputRequired)) throw toRpcError(context, thrown, call.requestId);
      call.interim = thrown.result;
      throw new RpcError(-32603, thrown.message, undefined, thrown);
    }
  };

  let sdk: Promise<SdkServer> | undefined;
  /**
   * Loads the SDK at its first use, because loading it would double the start time. tools/list and tools/call do not
   * need it.
   */
  const sdkServer = () =>
    (sdk ??= import('./sdk.ts').then(({ createSdkServer }) => createSdkServer(handled, callTool)));
  let nextId = 0;

  /**
   * Answers tools/call without the SDK, whose parsing and queue would cost as much as the rest of a built-in tool.
   */
  const answerCall = async ({ name, args }: PlainCall, call: McpCall): Promise<Answer> => {
    if (call.signal.aborted) throw cancelled();
    let answer: Answer;
    try {
      answer = await callTool(scopeOf(call), name, args);
    } catch (thrown) {
      answer =
        thrown instanceof InputRequired
          ? interim(thrown.result)
          : { error: faultOf(toRpcError(context, thrown, call.requestId)) };
    }
    if (call.signal.aborted) throw cancelled();
    return answer;
  };

  return {
    visible: (grant) => visibility.of(grant.live),
    async toolList(grant) {
      const { listBytes, tools } = visibility.of(grant.live, await severalAccounts(context.db, grant));
      const more = listed(await workflowTools.of(grant), grant);
      if (tools.length + more.length > TOOLS_A_PAGE) return undefined;
      return more.length === 0 ? listBytes : withMore(listBytes, more);
    },
    async resourceFault(uri, call) {
      try {
        const { assertResource } = await import('./resources.ts');
        await assertResource(scopeOf(call), uri);
        return undefined;
      } catch (thrown) {
        return faultOf(toRpcError(context, thrown, call.requestId));
      }
    },
    async answer(asked, call) {
      const request = withoutTask(asked);
      const fault = paramsFault(request);
      if (fault) return invalidParams(call, fault);
      const plain = plainCall(request);
      if (plain) return answerCall(plain, call);
      const server = await sdkServer();
      if (!server.takes(request)) return invalidParams(call, 'params._meta is not as MCP has it');
      const id = ++nextId;
      calls.set(id, call);
      try {
        const response = await server.ask({ ...request, id }, call.signal);
        if (call.interim) return interim(call.interim);
        if ('error' in response)
          return response.error.code === UNKNOWN_METHOD
            ? unknownMethod(call, request.method)
            : { error: response.error };
        return call.rendered ?? { result: JSON.stringify(response.result), failed: false };
      } finally {
        calls.delete(id);
      }
    },
    close: async () => (await sdk)?.close(),
  };
}

function invalidParams({ requestId }: McpCall, message: string): Answer {
  return { error: { code: -32602, message, data: { code: 'invalid_request', requestId } } };
}

function unknownMethod({ requestId }: McpCall, method: string): Answer {
  const message = `There is no method "${method.slice(0, 64)}" here.`;
  return { error: { code: UNKNOWN_METHOD, message, data: { code: 'method_not_found', requestId } } };
}

function interim(result: JsonObject): Answer {
  return { result: JSON.stringify(result), failed: false, interim: true };
}

function faultOf({ code, message, data }: RpcError): RpcFault {
  return { code, message, data };
}

/** Removes a task, which only concerns servers that declare tasks; others ignore it (MCP 2025-11-25). */
function withoutTask(request: JSONRPCRequest): JSONRPCRequest {
  if (request.params?.['task'] === undefined) return request;
  const { task: _, ...params } = request.params;
  return { ...request, params };
}

interface PlainCall {
  name: string;
  args: JsonObject;
}

/** Returns a tools/call that needs no feature of the SDK; undefined when `_meta` has other members. */
function plainCall({ method, params = {} }: JSONRPCRequest): PlainCall | undefined {
  if (method !== 'tools/call') return undefined;
  const { name, arguments: args = {}, _meta: meta = {}, ...others } = params;
  if (typeof name !== 'string' || !isJsonObject(args) || !isJsonObject(meta)) return undefined;
  const { progressToken } = meta;
  if (Object.keys(others).length > 0 || !Object.keys(meta).every(isPlainMember)) return undefined;
  const known =
    progressToken === undefined || typeof progressToken === 'string' || Number.isSafeInteger(progressToken);
  return known ? { name, args } : undefined;
}

function isPlainMember(name: string): boolean {
  return name === 'progressToken' || TRACE_MEMBERS.has(name);
}

/** Runs a tool by name. An error of the run is a result; an unknown or restricted name throws. */
async function callTool(
  scope: ToolScope,
  name: string,
  args: unknown,
): Promise<{ result: string; failed: boolean }> {
  const builtIn = BUILT_IN_BY_NAME.get(name);
  const workflow = builtIn || scope.visible.direct.has(name) ? undefined : await workflowTool(scope, name);
  const action = builtIn || workflow ? undefined : directAction(scope, name);
  try {
    if (builtIn) {
      const { value, sizing } = await builtIn.run(scope, args);
      const { thirdParty } = builtIn;
      return good(await toResultText(scope, value, { thirdParty, sizing }));
    }
    if (workflow && isJsonObject(args)) {
      const value = await runWorkflow(scope, workflow, args);
      return good(await toResultText(scope, value, { thirdParty: true }));
    }
    if (action && isJsonObject(args)) {
      const { connectorId, actionId } = action;
      const direct = directArguments(scope, action, args);
      const structured = await runAction(scope, { connectorId, actionId, ...direct });
      const sizing = sizingOf({ connectorId, actionId, parameters: direct.input });
      return good(await toResultText(scope, structured, { thirdParty: true, sizing }));
    }
    throw new GatehouseError('invalid_request', 'The arguments of a tool are an object.');
  } catch (thrown) {
    if (thrown instanceof InputRequired) throw thrown;
    const error = answerError(thrown);
    if (belongsToProtocol(error, scope)) throw error;
    if (hidesCause(error)) logInternal(scope.context, thrown, scope.requestId);
    return { result: JSON.stringify(toErrorResult(error, scope)), failed: true };
  }
}

/** Appends tools to the text `{"tools":[…]}`, which always holds the built-in tools. */
function withMore(list: Buffer, more: readonly ToolDefinition[]): Buffer {
  const text = more.map((one) => JSON.stringify(one)).join(',');
  return Buffer.concat([list.subarray(0, -2), Buffer.from(`,${text}]}`)]);
}

function good(result: string) {
  return { result, failed: false };
}

/** Returns whether the client's program, not its model, handles this error. */
function belongsToProtocol({ code }: GatehouseError, { inputs }: ToolScope): boolean {
  if (code === 'url_elicitation_required' || code === 'request_state_invalid') return true;
  // Versions before MCP 2026-07-28 have no error for this.
  return code === 'client_capability_missing' && inputs?.live === false;
}

/** Returns the workflow tool of this name. @throws GatehouseError `restricted` */
async function workflowTool(
  { workflowTools, grant }: ToolScope,
  name: string,
): Promise<WorkflowTool | undefined> {
  if (!name.startsWith('run_')) return undefined;
  const found = (await workflowTools.of(grant)).find(({ definition }) => definition.name === name);
  if (found?.rule !== undefined) throw restricted(`the tool ${name}`, found.rule);
  return found;
}

function directAction({ visible, visibility, grant }: ToolScope, name: string) {
  const action = visible.direct.get(name);
  if (action) return action;
  const hidden = visibility.actionOf(grant.environment, name);
  const rule = hidden && grant.live.decision.action(hidden);
  // Running it fails with an error that names the account it needs.
  if (hidden && !rule && visible.direct.size > 0 && grant.live.unable?.has(hidden)) return hidden;
  if (rule) throw restricted(`the tool ${name}`, rule);
  const names = visible.tools.map((tool) => tool.name);
  const hint = hidden
    ? ' This server lists no tool per action: use execute_action_svc.'
    : `${didYouMean(name, names)} tools/list has those that are here.`;
  throw new GatehouseError('invalid_request', `There is no tool "${name.slice(0, 100)}".${hint}`);
}

/** Returns the JSON-RPC error of a refusal. Inside a session or a bare answer an unknown name is invalid params. */
function toRpcError(context: Context, thrown: unknown, requestId: string): RpcError {
  if (thrown instanceof RpcError) return thrown;
  const error = answerError(thrown);
  if (hidesCause(error)) logInternal(context, thrown, requestId);
  const code =
    error.code === 'not_found' ? -32002 : error.code === 'invalid_request' ? -32602 : error.rpcCode;
  // The client's program handles other codes, but its model reads these two.
  const next = error.code === 'restricted' || error.code === 'internal' ? ` ${nextStep(error)}` : '';
  const details = writtenOut(JSON.parse(JSON.stringify(error.details ?? {})));
  return new RpcError(
    code,
    `${messageOf(error, requestId)}${next}`,
    { code: error.code, requestId, ...(isJsonObject(details) ? details : {}) },
    thrown,
  );
}

function logInternal({ log }: Context, thrown: unknown, requestId: string): void {
  log.error({ requestId, err: thrown }, 'MCP request failed');
}

/** Returns the fault in a request's params as one sentence (-32602); the SDK would return a dump of its checks. */
function paramsFault({ method, params }: JSONRPCRequest): string | undefined {
  const text = (name: string) =>
    typeof params?.[name] === 'string' ? undefined : `params.${name} must be a string`;
  const object = (name: string) =>
    params?.[name] === undefined || isJsonObject(params[name])
      ? undefined
      : `params.${name} must be an object`;
  switch (method) {
    case 'tools/call':
      return text('name') ?? object('arguments');
    case 'prompts/get':
      return text('name') ?? object('arguments') ?? allStrings(params?.['arguments']);
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return text('uri');
    case 'completion/complete':
      return completionFault(params);
    case 'tools/list':
    case 'prompts/list':
    case 'resources/list':
    case 'resources/templates/list':
      return params?.['cursor'] === undefined ? undefined : text('cursor');
    default:
      return undefined;
  }
}

function completionFault(params: { [name: string]: unknown } = {}): string | undefined {
  const { ref, argument, context } = params;
  if (!isJsonObject(ref) || !isJsonObject(argument)) return 'params.ref and params.argument must be objects';
  const subject = { 'ref/prompt': 'name', 'ref/resource': 'uri' }[String(ref['type'])];
  if (subject === undefined) return 'params.ref.type must be ref/prompt or ref/resource';
  if (typeof ref[subject] !== 'string') return `params.ref.${subject} must be a string`;
  const bad = ['name', 'value'].find((member) => typeof argument[member] !== 'string');
  if (bad !== undefined) return `params.argument.${bad} must be a string`;
  if (context !== undefined && !isJsonObject(context)) return 'params.context must be an object';
  const chosen = context?.['arguments'];
  if (chosen !== undefined && !isJsonObject(chosen)) return 'params.context.arguments must be an object';
  return allStrings(chosen, 'params.context.arguments');
}

function allStrings(value: unknown, where = 'params.arguments'): string | undefined {
  if (!isJsonObject(value)) return undefined;
  const bad = Object.keys(value).find((name) => typeof value[name] !== 'string');
  return bad === undefined ? undefined : `${where}.${bad} must be a string`;
}
