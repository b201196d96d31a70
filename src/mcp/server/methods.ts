import {
  CompleteRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
  type Request,
  type Result,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { severalAccounts } from '../../credentials/active-credentials.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { asJson, asObject } from '../../lib/json.ts';
import { initializeResult } from '../protocol/initialize.ts';
import { discoverResult, VERSION_2026 } from '../protocol/mcp-2026.ts';
import { TASK_METHODS } from '../protocol/task-extension.ts';
import { cursorOf, startOf } from '../answers/cursor.ts';
import { newestOf } from '../answers/events.ts';
import type { Connection, McpCall } from '../scope/mcp-call.ts';
import { prepareProgram } from '../tools/program-run.ts';
import { complete, getPrompt, listPrompts } from '../resources/prompts.ts';
import { Rendered } from '../answers/rendered.ts';
import { isRemoteUri } from '../resources/remote-context.ts';
import {
  assertFollowed,
  listResources,
  listResourceTemplates,
  readResource,
} from '../resources/resources.ts';
import { RpcError } from '../answers/rpc-error.ts';
import { answerTask } from './task-methods.ts';
import type { ToolScope } from '../scope/tool.ts';
import { pageTexts } from '../scope/tool-definition.ts';
import { showsViews } from '../scope/view-document.ts';
import type { Viewer } from '../scope/visible-types.ts';
import { listed } from '../tools/workflow-tools.ts';

const MAX_SUBSCRIPTIONS = 1000;

/** The part of the SDK's schemas that handlers need: a shape with the method's name. */
type MethodSchema = z.ZodObject<{ method: z.ZodLiteral<string> }>;

/** Registers the handler of a method. The handler returns an object, or JSON that is sent instead. */
export type On = <S extends MethodSchema>(
  schema: S,
  handle: (
    request: z.output<S>,
    scope: ToolScope,
    call: McpCall,
  ) => Result | Rendered | Promise<Result | Rendered>,
) => void;

/** The methods that this server answers. Other names are chosen by clients. */
export const METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'subscriptions/listen',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  ...TASK_METHODS,
]);

/** Registers every method but tools/call, those of `fallback`, and ping, which the SDK answers. */
export function registerMethods(on: On): void {
  on(method('initialize'), (_, { visible }, { protocolVersion }) => {
    if (protocolVersion !== undefined) return initializeResult(protocolVersion, visible.instructions);
    throw new GatehouseError('invalid_request', 'This session is initialized already.');
  });
  on(method('server/discover'), (request, { visible }, call) => {
    assert2026(call, request);
    return discoverResult(visible.instructions);
  });
  on(method('subscriptions/listen'), async (request, scope, call) => {
    assert2026(call, request);
    await call.listen?.((uri) => isReadable(scope, uri));
    return {};
  });
  on(SetLevelRequestSchema, ({ params }, _, { connection }) => {
    if (connection) connection.logLevel = params.level;
    return {};
  });
  on(SubscribeRequestSchema, async ({ params }, scope, call) => {
    await subscribe(scope, connectionOf(call), params.uri);
    return {};
  });
  on(UnsubscribeRequestSchema, ({ params }, scope, call) => {
    if (connectionOf(call).subscriptions.delete(params.uri)) scope.unfollow(params.uri);
    return {};
  });
  on(ListToolsRequestSchema, ({ params }, scope) => listTools(scope, params?.cursor));
  on(ListResourcesRequestSchema, ({ params }, scope) => listResources(scope, params?.cursor));
  on(ListResourceTemplatesRequestSchema, ({ params }, scope) => listResourceTemplates(scope, params?.cursor));
  on(ReadResourceRequestSchema, ({ params }, scope) => readResource(scope, params.uri));
  on(ListPromptsRequestSchema, ({ params }, scope) => listPrompts(scope, params?.cursor));
  on(GetPromptRequestSchema, ({ params }, scope) => getPrompt(scope, params.name, params.arguments ?? {}));
  on(CompleteRequestSchema, ({ params: { ref, argument, context } }, scope) => {
    return complete(scope, { ref, argument, chosen: context?.arguments ?? {} });
  });
}

/** Returns the schema of a method whose params its transport has read, or that the SDK does not know. */
function method(name: string) {
  return z.object({ method: z.literal(name) });
}

/** Answers methods without a handler: those of tasks, whose names the SDK has for the tasks of an older version. */
export function fallback(
  { method, params = {} }: Request,
  scope: ToolScope,
  call: McpCall,
): Promise<Rendered> {
  if (!TASK_METHODS.has(method)) throw unknownMethod(method);
  assert2026(call, { method });
  return answerTask(scope, method, asObject(asJson(params)));
}

function unknownMethod(name: string): GatehouseError {
  return new GatehouseError('method_not_found', `There is no method "${name.slice(0, 64)}" here.`);
}

function assert2026({ protocolVersion }: McpCall, request: { method: string }): void {
  if (protocolVersion !== VERSION_2026) throw unknownMethod(request.method);
}

function connectionOf({ connection, requestId }: McpCall): Connection {
  if (connection) return connection;
  const data = { code: 'invalid_request', requestId };
  throw new RpcError(-32600, 'Subscriptions need a session: initialize first.', { data });
}

async function subscribe(
  scope: ToolScope,
  { subscriptions, newest }: Connection,
  uri: string,
): Promise<void> {
  if (subscriptions.size >= MAX_SUBSCRIPTIONS && !subscriptions.has(uri))
    throw new GatehouseError(
      'invalid_request',
      `A session subscribes to at most ${MAX_SUBSCRIPTIONS} resources.`,
    );
  await assertFollowed(scope, uri);
  for (const [name, event] of await newestOf(scope.context, scope.grant, { uris: [uri] }))
    newest.set(name, event);
  subscriptions.add(uri);
}

async function isReadable(scope: ToolScope, uri: string): Promise<boolean> {
  try {
    await assertFollowed(scope, uri);
    return true;
  } catch (error) {
    // A remote server that fails leaves the other addresses of the request as they are.
    if (error instanceof GatehouseError && (error.status < 500 || isRemoteUri(uri))) return false;
    throw error;
  }
}

function viewerOf(scope: ToolScope): Viewer | undefined {
  if (!showsViews(scope)) return undefined;
  return scope.inputs?.abilities.form ? 'asked' : 'unasked';
}

/** Returns the cached bytes of the list, or a page when the list has several. */
async function listTools(scope: ToolScope, cursor: string | undefined): Promise<Rendered> {
  const { visibility, workflowTools, grant, context } = scope;
  prepareProgram(scope.context, scope.grant);
  const several = await severalAccounts(context, grant);
  const { listBytes, tools } = visibility.of(grant.live, several, viewerOf(scope));
  const more = listed(await workflowTools.of(grant), grant);
  if (cursor === undefined && listBytes && more.length === 0) return new Rendered(listBytes);
  const all = [...tools, ...more];
  const start = await startOf(scope, 'tools', cursor);
  const texts = pageTexts(all.slice(start));
  const end = start + texts.length;
  const next = end < all.length ? `,"nextCursor":"${await cursorOf(scope, 'tools', end)}"` : '';
  return new Rendered(`{"tools":[${texts.join(',')}]${next}}`);
}
