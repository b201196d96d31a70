import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type JSONRPCResultResponse,
} from '@modelcontextprotocol/sdk/types.js';
import { severalAccounts } from '../../credentials/choices.ts';
import { pageAt } from './cursor.ts';
import { CAPABILITIES, SERVER_INFO } from '../protocol/initialize.ts';
import { complete, getPrompt, listPrompts } from './prompts.ts';
import { listResources, listResourceTemplates, readResource } from './resources.ts';
import { cancelled } from '../protocol/message.ts';
import type { McpCall } from './mcp-call.ts';
import type { ToolScope } from './tool.ts';
import { TOOLS_A_PAGE } from './tool-definition.ts';
import { listed } from './workflow-tools.ts';

export type RpcResponse = JSONRPCResultResponse | JSONRPCErrorResponse;

/** The one long-lived server of the official SDK. The id of a request leads to its caller. */
export interface SdkServer {
  /** Returns whether this is a valid JSON-RPC request. The SDK does not answer any other. */
  takes(request: JSONRPCRequest): boolean;
  /**
   * Sends a request to the SDK. Rejects only when the signal aborts. The id must differ from those of running
   * requests.
   */
  ask(request: JSONRPCRequest, signal: AbortSignal): Promise<RpcResponse>;
  close(): Promise<void>;
}

/** Runs a handler with the scope of the running request. Its errors become JSON-RPC errors. */
export type Handled = <T>(
  id: string | number,
  handle: (scope: ToolScope, call: McpCall) => T | Promise<T>,
) => Promise<T>;

/** Runs a tool by name and renders its result. */
export type CallTool = (
  scope: ToolScope,
  name: string,
  args: unknown,
) => Promise<{ result: string; failed: boolean }>;

/** Placeholder for a tool's result. The SDK parses results, and ours is JSON text already. */
const NOTHING_TO_COPY = { content: [] };

export async function createSdkServer(handled: Handled, callTool: CallTool): Promise<SdkServer> {
  const server = new Server(SERVER_INFO, { capabilities: CAPABILITIES });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }, { requestId }) =>
    handled(requestId, async (scope) => {
      const { visibility, workflowTools, grant, context } = scope;
      const { tools } = visibility.of(grant.live, await severalAccounts(context.db, grant));
      const all = [...tools, ...listed(await workflowTools.of(grant), grant)];
      const wish = { list: 'tools', all, cursor: params?.cursor, size: TOOLS_A_PAGE };
      const { page, nextCursor } = await pageAt(scope, wish);
      return { tools: [...page], ...(nextCursor === undefined ? {} : { nextCursor }) };
    }),
  );
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { requestId }) =>
    handled(requestId, async (scope, call) => {
      call.rendered = await callTool(scope, params.name, params.arguments ?? {});
      return NOTHING_TO_COPY;
    }),
  );
  server.setRequestHandler(ListResourcesRequestSchema, ({ params }, { requestId }) =>
    handled(requestId, (scope) => listResources(scope, params?.cursor)),
  );
  server.setRequestHandler(ListResourceTemplatesRequestSchema, ({ params }, { requestId }) =>
    handled(requestId, (scope) => listResourceTemplates(scope, params?.cursor)),
  );
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }, { requestId }) =>
    handled(requestId, (scope) => readResource(scope, params.uri)),
  );
  server.setRequestHandler(ListPromptsRequestSchema, ({ params }, { requestId }) =>
    handled(requestId, (scope) => listPrompts(scope, params?.cursor)),
  );
  server.setRequestHandler(GetPromptRequestSchema, ({ params }, { requestId }) =>
    handled(requestId, (scope) => getPrompt(scope, params.name, params.arguments ?? {})),
  );
  server.setRequestHandler(CompleteRequestSchema, ({ params }, { requestId }) =>
    handled(requestId, (scope) => {
      const prompt = params.ref.type === 'ref/prompt' ? params.ref.name : undefined;
      return complete(scope, prompt, params.argument, params.context?.arguments ?? {});
    }),
  );

  const pipe = createPipe();
  await server.connect(pipe.transport);
  return { takes: isJSONRPCRequest, ask: pipe.ask, close: () => server.close() };
}

/** Creates an in-process transport that many requests share. Each request waits for the response with its id. */
function createPipe() {
  const waiting = new Map<string | number, (response: RpcResponse) => void>();
  const transport: Transport = {
    start: async () => {},
    close: async () => transport.onclose?.(),
    async send(message: JSONRPCMessage) {
      if (!isJSONRPCResultResponse(message) && !isJSONRPCErrorResponse(message)) return;
      if (message.id === undefined) return;
      waiting.get(message.id)?.(message);
    },
  };
  const ask = (request: JSONRPCRequest, signal: AbortSignal): Promise<RpcResponse> =>
    new Promise((resolve, reject) => {
      const onAbort = () => {
        waiting.delete(request.id);
        // The SDK aborts the handler and sends no response.
        transport.onmessage?.({
          jsonrpc: '2.0',
          method: 'notifications/cancelled',
          params: { requestId: request.id },
        });
        reject(cancelled());
      };
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      waiting.set(request.id, (response) => {
        waiting.delete(request.id);
        signal.removeEventListener('abort', onAbort);
        resolve(response);
      });
      transport.onmessage?.(request);
    });
  return { transport, ask };
}
