import { z } from 'zod';
import { SCOPES } from '../identity/scopes.ts';
import { ERROR_CODES, type ErrorCode } from '../lib/errors.ts';
import type { Route, RouteFacts } from './route.ts';
import { errorBody } from './shapes.ts';

type JsonObject = { [key: string]: unknown };

/** Codes that service.md itself lists for its endpoints; every other status is marked `x-beyond-spec`. */
const SPEC_STATUSES = new Set([400, 401, 403, 404, 409, 429]);

/** The OpenAPI 3.1 document of every route: printed from the same values that define them (service.md section 9). */
export function openApiDocument(routes: Route[], publicUrl: string): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route.spec);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse',
      version: '2.0',
      summary: 'Controlled access to third-party apps for AI agents.',
      description:
        'Management of MCP servers, end users, credentials and actions. MCP itself is spoken at `/mcp/{serverId}` ' +
        'and `/mcp/{serverId}/{accessToken}`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl }],
    tags: [...new Set(routes.map((route) => route.spec.tag))].map((name) => ({ name })),
    paths: { ...paths, ...mcpPaths() },
    components: {
      schemas: {
        Error: schemaOf(errorBody, 'output'),
        JsonRpcRequest: JSON_RPC_REQUEST,
        JsonRpcResponse: JSON_RPC_RESPONSE,
      },
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: gh_dev_… or gh_prod_….' },
        browser: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-gatehouse',
          description: 'A browser that has opened a connect link; `gatehouse` where there is no TLS.',
        },
        jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A JWT of an end user.' },
      },
    },
    'x-scopes': SCOPES,
  };
}

function operation(spec: RouteFacts): JsonObject {
  const { success, otherwise } = spec;
  const json = success.contentType === undefined;
  return {
    operationId: spec.operationId,
    tags: [spec.tag],
    summary: spec.summary,
    ...(spec.description ? { description: spec.description } : {}),
    ...(spec.auth === 'none' ? { security: [] } : { security: security(spec) }),
    ...(spec.scope ? { 'x-scope': spec.scope } : {}),
    parameters: [
      ...properties(spec.params).map(([name, schema]) => parameter('path', name, schema, true)),
      ...properties(spec.query).map(([name, schema, required]) => parameter('query', name, schema, required)),
      ...headerParameters(spec),
    ],
    ...(spec.body
      ? {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemaOf(spec.body, 'input') } },
          },
        }
      : {}),
    ...(spec.rawBody
      ? {
          requestBody: {
            required: false,
            description: spec.rawBody.description,
            content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
          },
        }
      : {}),
    responses: {
      [success.status]: {
        description: success.description,
        content: {
          [success.contentType ?? 'application/json']: {
            schema: json ? schemaOf(success.schema, 'output') : { type: 'string' },
          },
        },
      },
      ...(otherwise
        ? {
            [otherwise.status]: {
              description: otherwise.description,
              content: { 'application/json': { schema: schemaOf(otherwise.schema, 'output') } },
            },
          }
        : {}),
      ...failures(spec),
    },
  };
}

function security(spec: RouteFacts): JsonObject[] {
  switch (spec.auth) {
    case 'api_key_or_jwt':
      return [{ apiKey: [] }, { jwt: [] }];
    case 'jwt':
      return [{ jwt: [] }];
    case 'jwt_or_browser':
      return [{ jwt: [] }, { browser: [] }];
    default:
      return [{ apiKey: [] }];
  }
}

const USER_RULES = {
  required: 'The end user on whose behalf this is done.',
  existing: "The end user whose it is: what is another user's is not found, and a list is of theirs alone.",
  owner: 'User for ownership or filtering.',
};

function headerParameters(spec: RouteFacts): JsonObject[] {
  const headers: JsonObject[] = [];
  if (spec.apiVersion) {
    headers.push(parameter('header', 'x-api-version', { type: 'string', enum: ['2025-09'] }, true));
  }
  if (spec.user) {
    const description = USER_RULES[spec.user];
    headers.push(
      parameter('header', 'x-svc-userid', { type: 'string', description }, spec.user === 'required'),
    );
  }
  for (const [name, description] of Object.entries(spec.headers ?? {})) {
    headers.push(parameter('header', name, { type: 'string', description }, false));
  }
  return headers;
}

function parameter(place: string, name: string, schema: JsonObject, required: boolean): JsonObject {
  const { description, ...rest } = schema;
  return { name, in: place, required, ...(description ? { description } : {}), schema: rest };
}

/** The refusals of a route: those of its kind and its own, one entry a status that lists the codes. */
function failures(spec: RouteFacts): JsonObject {
  const codes: ErrorCode[] = [...(spec.errors ?? [])];
  if (spec.params || spec.query || spec.body) codes.push('invalid_request');
  if (spec.auth !== 'none') codes.push('unauthorized', 'token_expired', 'forbidden', 'rate_limited');
  if (spec.apiVersion) codes.push('api_version_missing', 'api_version_unsupported');
  if (spec.user === 'required') codes.push('user_id_missing');
  if (spec.user === 'required' || spec.user === 'existing') codes.push('user_not_found');
  if (spec.body) codes.push('payload_too_large', 'unsupported_media_type');
  const byStatus = new Map<number, Set<ErrorCode>>();
  for (const code of codes) {
    const { status } = ERROR_CODES[code];
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
  }
  return Object.fromEntries(
    [...byStatus.entries()]
      .sort(([a], [b]) => a - b)
      .map(([status, set]) => [
        status,
        {
          description: [...set].map((code) => `\`${code}\``).join(', '),
          ...(SPEC_STATUSES.has(status) ? {} : { 'x-beyond-spec': true }),
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      ]),
  );
}

function properties(schema: z.ZodType | undefined): [name: string, schema: JsonObject, required: boolean][] {
  if (!schema) return [];
  const { properties = {}, required = [] } = z
    .looseObject({
      properties: z.record(z.string(), z.looseObject({})).optional(),
      required: z.array(z.string()).optional(),
    })
    .parse(schemaOf(schema, 'input'));
  return Object.entries(properties).map(([name, property]) => [name, property, required.includes(name)]);
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    target: 'draft-2020-12',
  });
  return rest;
}

const JSON_RPC_REQUEST = {
  type: 'object',
  required: ['jsonrpc', 'method', 'id'],
  properties: {
    jsonrpc: { const: '2.0' },
    method: {
      type: 'string',
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
    params: { type: 'object' },
    id: { type: ['string', 'integer'] },
  },
};
const JSON_RPC_RESPONSE = {
  type: 'object',
  required: ['jsonrpc', 'id'],
  properties: {
    jsonrpc: { const: '2.0' },
    result: { type: 'object' },
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'integer' },
        message: { type: 'string' },
        data: { type: 'object', properties: { code: { type: 'string' }, requestId: { type: 'string' } } },
      },
    },
    id: { type: ['string', 'integer', 'null'] },
  },
};

/** The MCP endpoints (service.md section 4.2), which speak JSON-RPC and are served beside the routes. */
function mcpPaths(): Record<string, JsonObject> {
  const header = (name: string, description: string, required = false) =>
    parameter('header', name, { type: 'string', description }, required);
  const path = (name: string) => parameter('path', name, { type: 'string' }, true);
  const optional = [
    header('x-svc-user-token', 'JWT of the end user, for isolation.'),
    header('x-credential-id', 'The credential to use for calls of its connector.'),
    header('x-redirect-uri', 'Where a person returns to after connecting an account.'),
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
        'application/json': { schema: { $ref: '#/components/schemas/JsonRpcResponse' } },
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
    content: { 'application/json': { schema: { $ref: '#/components/schemas/JsonRpcRequest' } } },
  };
  const common = { tags: ['MCP'], requestBody, responses: answers(refusals) };
  return {
    '/mcp/{serverId}': {
      post: {
        ...common,
        operationId: 'mcp',
        summary: 'Speak MCP with an API key, JWT or access token',
        security: [{ apiKey: [] }, { jwt: [] }],
        'x-scope': 'mcp:use',
        parameters: [
          path('serverId'),
          header('x-svc-userid', 'The end user; required with an API key.'),
          ...optional,
        ],
      },
    },
    '/mcp/{serverId}/{accessToken}': {
      post: {
        ...common,
        operationId: 'mcpByToken',
        summary: 'Speak MCP at a self-sufficient URL',
        security: [],
        parameters: [
          path('serverId'),
          path('accessToken'),
          header('x-svc-userid', 'Overrides the user id.'),
          ...optional,
        ],
      },
    },
  };
}
