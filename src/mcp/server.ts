import type { JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import type { Context } from '../context.ts';
import { GatehouseError, publicError } from '../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import type { Progress } from '../upstream/call.ts';
import type { Elicits } from './elicitation.ts';
import type { Grant } from './grant.ts';
import { cancelled } from './message.ts';
import type { SdkServer } from './sdk.ts';
import { toErrorResult, toResultText } from './results.ts';
import { createActionSearch } from './search.ts';
import { BUILT_IN_BY_NAME, restricted, runAction } from './tools.ts';
import { TOOLS_A_PAGE, type ToolScope } from './tool.ts';
import { createVisibility, type Visible } from './visible.ts';

/** One request of a client, with what it may do and where its notifications go. */
export interface McpCall {
  grant: Grant;
  requestId: string;
  signal: AbortSignal;
  /** Set by tools/call: its result as JSON text, which goes out instead of the SDK's own copy. */
  rendered?: { text: string; failed: boolean };
  /** Progress for the client's token; undefined when it asked for none. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Set where the client opens links for its person. */
  elicits?: Elicits | undefined;
}

/** All MCP traffic of the process. */
export interface McpCore {
  /** The response to a request as JSON text, and whether it tells of a failure. Rejects only when the call's signal aborts. */
  answer(request: JSONRPCRequest, call: McpCall): Promise<{ text: string; failed: boolean }>;
  /** The result of tools/list as JSON bytes, where the whole list is one page. */
  toolList(grant: Grant): Buffer | undefined;
  visible(grant: Grant): Visible;
  close(): Promise<void>;
}

/** An error with the numeric code that JSON-RPC wants; the SDK copies `code`, `message` and `data`. */
class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown, cause: unknown) {
    super(message, { cause });
    this.code = code;
    this.data = data;
  }
}

export function createMcpCore(context: Context): McpCore {
  const visibility = createVisibility(context);
  const searchActions = createActionSearch(context);
  const calls = new Map<string | number, McpCall>();

  const scopeOf = (call: McpCall): ToolScope => ({
    context,
    grant: call.grant,
    visible: visibility.of(call.grant.live),
    visibility,
    searchActions,
    requestId: call.requestId,
    signal: call.signal,
    onProgress: call.onProgress,
    elicits: call.elicits,
  });

  /** The scope of a running request; refusals become JSON-RPC errors with the contract's codes. */
  const handled = async <T>(
    id: string | number,
    handle: (scope: ToolScope, call: McpCall) => T | Promise<T>,
  ): Promise<T> => {
    const call = calls.get(id);
    if (!call) throw new RpcError(-32603, 'The request is not known here.', undefined, undefined);
    try {
      return await handle(scopeOf(call), call);
    } catch (thrown) {
      throw toRpcError(context, thrown, call.requestId);
    }
  };

  let sdk: Promise<SdkServer> | undefined;
  /** Loaded at its first use: listing tools and calling them goes past it, and it would double a start. */
  const sdkServer = () =>
    (sdk ??= import('./sdk.ts').then(({ createSdkServer }) => createSdkServer(handled, callTool)));
  let nextId = 0;

  /** tools/call, past the SDK: its parsing and its queue would cost as much as the rest of a built-in tool. */
  const answerCall = async (id: string | number, { name, args }: PlainCall, call: McpCall) => {
    if (call.signal.aborted) throw cancelled();
    let answer: { text: string; failed: boolean };
    try {
      const { text, failed } = await callTool(scopeOf(call), name, args);
      answer = { text: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`, failed };
    } catch (thrown) {
      const { code, message, data } = toRpcError(context, thrown, call.requestId);
      answer = { text: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } }), failed: true };
    }
    if (call.signal.aborted) throw cancelled();
    return answer;
  };

  return {
    visible: (grant) => visibility.of(grant.live),
    toolList(grant) {
      const { listBytes, tools } = visibility.of(grant.live);
      return tools.length <= TOOLS_A_PAGE ? listBytes : undefined;
    },
    async answer(request, call) {
      const fault = paramsFault(request);
      if (fault) return invalidParams(request, call, fault);
      const plain = plainCall(request);
      if (plain) return answerCall(request.id, plain, call);
      const server = await sdkServer();
      if (!server.takes(request)) return invalidParams(request, call, 'params._meta is not as MCP has it');
      const id = ++nextId;
      calls.set(id, call);
      try {
        const response = await server.ask({ ...request, id }, call.signal);
        if (call.rendered && 'result' in response) {
          const { text, failed } = call.rendered;
          return { text: `{"jsonrpc":"2.0","id":${JSON.stringify(request.id)},"result":${text}}`, failed };
        }
        return { text: JSON.stringify({ ...response, id: request.id }), failed: 'error' in response };
      } finally {
        calls.delete(id);
      }
    },
    close: async () => (await sdk)?.close(),
  };
}

function invalidParams({ id }: JSONRPCRequest, { requestId }: McpCall, message: string) {
  const data = { code: 'invalid_request', requestId };
  const text = JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32602, message, data } });
  return { text, failed: true };
}

interface PlainCall {
  name: string;
  args: JsonObject;
}

/** A tools/call that asks for nothing that only the SDK knows: `task`, other members of `_meta`. */
function plainCall({ method, params = {} }: JSONRPCRequest): PlainCall | undefined {
  if (method !== 'tools/call') return undefined;
  const { name, arguments: args = {}, _meta: meta = {}, ...others } = params;
  if (typeof name !== 'string' || !isJsonObject(args) || !isJsonObject(meta)) return undefined;
  const { progressToken, ...otherMeta } = meta;
  if (Object.keys(others).length > 0 || Object.keys(otherMeta).length > 0) return undefined;
  const known =
    progressToken === undefined || typeof progressToken === 'string' || Number.isSafeInteger(progressToken);
  return known ? { name, args } : undefined;
}

/** Runs a tool by name. What the run meets is a result; an unknown or restricted name is an error. */
async function callTool(
  scope: ToolScope,
  name: string,
  args: unknown,
): Promise<{ text: string; failed: boolean }> {
  const builtIn = BUILT_IN_BY_NAME.get(name);
  const action = builtIn ? undefined : directAction(scope, name);
  try {
    if (builtIn) return good(await toResultText(scope.context, scope.grant, await builtIn.run(scope, args)));
    if (action && isJsonObject(args)) {
      const { connectorId, actionId } = action;
      const structured = await runAction(scope, { connectorId, actionId, input: args });
      return good(await toResultText(scope.context, scope.grant, structured));
    }
    throw new GatehouseError('invalid_request', 'The arguments of a tool are an object.');
  } catch (thrown) {
    const error = publicError(thrown);
    if (error.code === 'url_elicitation_required') throw error;
    if (error.code === 'internal') logInternal(scope.context, thrown, scope.requestId);
    return { text: JSON.stringify(toErrorResult(error, scope.requestId)), failed: true };
  }
}

function good(text: string) {
  return { text, failed: false };
}

function directAction({ visible, visibility, grant }: ToolScope, name: string) {
  const action = visible.direct.get(name);
  if (action) return action;
  const hidden = visibility.actionOf(grant.environment, name);
  const rule = hidden && grant.live.decision.action(hidden.connectorId, hidden.actionId);
  if (rule) throw restricted(`the tool ${name}`, rule);
  const hint = hidden ? 'This server lists no tool per action: use execute_action_svc.' : 'See tools/list.';
  throw new GatehouseError('invalid_request', `There is no tool "${name.slice(0, 100)}". ${hint}`);
}

/** Refusals with the codes of contract.md section 3: inside a session or a bare answer a bad name is invalid params. */
function toRpcError(context: Context, thrown: unknown, requestId: string): RpcError {
  if (thrown instanceof RpcError) return thrown;
  const error = publicError(thrown);
  if (error.code === 'internal') logInternal(context, thrown, requestId);
  const code =
    error.code === 'not_found' ? -32002 : error.code === 'invalid_request' ? -32602 : error.rpcCode;
  return new RpcError(code, error.message, { code: error.code, requestId, ...error.details }, thrown);
}

function logInternal({ log }: Context, thrown: unknown, requestId: string): void {
  log.error({ requestId, err: thrown }, 'MCP request failed');
}

/** What the SDK would answer with a dump of its own checks, in a sentence (-32602). */
function paramsFault({ method, params }: JSONRPCRequest): string | undefined {
  const text = (name: string) =>
    typeof params?.[name] === 'string' ? undefined : `params.${name} must be a string`;
  const object = (name: string) =>
    params?.[name] === undefined || isJsonObject(params[name])
      ? undefined
      : `params.${name} must be an object`;
  switch (method) {
    case 'tools/call':
      return text('name') ?? object('arguments') ?? object('task');
    case 'prompts/get':
      return text('name') ?? object('arguments') ?? allStrings(params?.['arguments']);
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return text('uri');
    case 'completion/complete':
      return isJsonObject(params?.['ref']) && isJsonObject(params['argument'])
        ? undefined
        : 'params.ref and params.argument must be objects';
    case 'tools/list':
    case 'prompts/list':
    case 'resources/list':
    case 'resources/templates/list':
      return params?.['cursor'] === undefined ? undefined : text('cursor');
    default:
      return undefined;
  }
}

function allStrings(value: unknown): string | undefined {
  if (!isJsonObject(value)) return undefined;
  const bad = Object.keys(value).find((name) => typeof value[name] !== 'string');
  return bad === undefined ? undefined : `params.arguments.${bad} must be a string`;
}
