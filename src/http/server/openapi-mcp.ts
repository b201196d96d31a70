import { parameter, SPEC_STATUSES } from './openapi-parameters.ts';
import type { SchemaObject } from './openapi-schemas.ts';

/** An MCP request. */
export const JSON_RPC_REQUEST = {
  description: 'An MCP request.',
  type: 'object',
  required: ['jsonrpc', 'method', 'id'],
  properties: {
    jsonrpc: { const: '2.0', description: 'JSON-RPC version.' },
    method: {
      type: 'string',
      description: 'MCP method.',
      examples: [
        'tools/list',
        'tools/call',
        'resources/list',
        'resources/read',
        'prompts/list',
        'prompts/get',
        'initialize',
        'server/discover',
        'subscriptions/listen',
      ],
    },
    params: { type: 'object', additionalProperties: true, description: 'Parameters of the method.' },
    id: { type: ['string', 'integer'], description: 'Id of the request. The response repeats it.' },
  },
};
/** An MCP response. */
export const JSON_RPC_RESPONSE = {
  description: 'An MCP response.',
  type: 'object',
  required: ['jsonrpc', 'id'],
  properties: {
    jsonrpc: { const: '2.0', description: 'JSON-RPC version.' },
    result: { type: 'object', additionalProperties: true, description: 'Result of the method.' },
    error: {
      type: 'object',
      description: 'The error; absent when there is a result.',
      required: ['code', 'message'],
      properties: {
        code: { type: 'integer', description: 'JSON-RPC or MCP error code.' },
        message: { type: 'string', description: 'Sentence that names the fault and its fix.' },
        data: {
          type: 'object',
          description: 'Further facts.',
          properties: {
            code: { type: 'string', description: 'Stable code of the error.' },
            requestId: { type: 'string', description: 'Id of the request, as in the logs.' },
          },
        },
      },
    },
    id: { type: ['string', 'integer', 'null'], description: 'Id of the request; null when it had none.' },
  },
};

/** Returns the MCP endpoints (docs/mcp.md), which speak JSON-RPC and are served next to the routes. */
export function mcpPaths(): Record<string, SchemaObject> {
  const header = (name: string, description: string, required = false) =>
    parameter('header', name, { schema: { type: 'string', description }, required });
  const path = (name: string, description: string) =>
    parameter('path', name, { schema: { type: 'string', description }, required: true });
  const optional = [
    header('x-svc-user-token', 'JWT of the end user, for isolation.'),
    header('x-credential-id', 'The credential to use for calls of its connector.'),
    header('x-redirect-uri', 'Address that the user returns to after connecting an account.'),
    header('Accept', 'Must include text/event-stream; default: application/json, text/event-stream.'),
    header('Mcp-Session-Id', 'The session that `initialize` opened, in MCP up to 2025-11-25.'),
    header(
      'MCP-Protocol-Version',
      'The version of MCP; since 2026-07-28 required, and equal to that in `_meta`.',
    ),
    header('Mcp-Method', 'Since MCP 2026-07-28: repeats `method`.'),
    header(
      'Mcp-Name',
      'Since MCP 2026-07-28: repeats the name of the tool or prompt, or the address of the resource.',
    ),
  ];
  const answers = (statuses: Record<number, string>) => ({
    200: {
      description: 'The JSON-RPC response, as JSON or as an event stream.',
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/JsonRpcResponse' },
          example: { jsonrpc: '2.0', id: '1', result: { tools: [] } },
        },
        'text/event-stream': { schema: { type: 'string' } },
      },
    },
    ...Object.fromEntries(
      Object.entries(statuses).map(([status, description]) => [
        status,
        {
          description,
          ...(SPEC_STATUSES.has(Number(status)) ? {} : { 'x-beyond-spec': true }),
          content: { 'application/json': { schema: { $ref: '#/components/schemas/JsonRpcResponse' } } },
        },
      ]),
    ),
  });
  const refusals = {
    400: 'Invalid request.',
    401: 'Invalid or expired token.',
    403: 'Restrictions apply, or the user is refused.',
    404: 'Unknown server or session; since MCP 2026-07-28, unknown method.',
    406: 'Accept lacks text/event-stream.',
    413: 'The body is larger than 1 MiB.',
    429: 'Rate limit exceeded.',
  };
  const requestBody = {
    required: true,
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/JsonRpcRequest' },
        example: { jsonrpc: '2.0', id: '1', method: 'tools/list' },
      },
    },
  };
  const common = { tags: ['MCP'], requestBody, responses: answers(refusals) };
  return {
    '/mcp/{serverId}': {
      post: {
        ...common,
        operationId: 'mcp',
        summary: 'Call MCP with an API key, JWT or access token',
        security: [{ apiKey: [] }, { jwt: [] }],
        'x-scope': 'mcp:use',
        parameters: [
          path('serverId', 'Id of an MCP server.'),
          header('x-svc-userid', 'The end user; required with an API key.'),
          ...optional,
        ],
      },
    },
    '/mcp/{serverId}/{accessToken}': {
      post: {
        ...common,
        operationId: 'mcpByToken',
        summary: 'Call MCP at a URL that holds its token',
        security: [],
        parameters: [
          path('serverId', 'Id of an MCP server.'),
          path('accessToken', 'Access token of the server.'),
          header('x-svc-userid', 'Overrides the user id.'),
          ...optional,
        ],
      },
    },
  };
}
