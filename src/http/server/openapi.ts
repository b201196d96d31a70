import { SCOPES } from '../../identity/scopes.ts';
import { ERROR_CODES, type ErrorCode } from '../../lib/errors.ts';
import { exampleOf } from './openapi-example.ts';
import { JSON_RPC_REQUEST, JSON_RPC_RESPONSE, mcpPaths } from './openapi-mcp.ts';
import { parametersOf, SPEC_STATUSES } from './openapi-parameters.ts';
import { Components, type SchemaObject } from './openapi-schemas.ts';
import type { Route, RouteFacts } from './route.ts';
import { errorBody } from './shapes.ts';

const TAGS: Record<string, string> = {
  'MCP servers': 'MCP servers, their restrictions and their access tokens.',
  'Tool definitions': 'Definitions that models see, and their approval.',
  Users: 'End users and their JWTs.',
  Connectors: 'The supported apps, and what their credentials need.',
  Actions: 'Actions of apps, and how to run them.',
  Files: 'Files of end users, as input and output of actions.',
  Credentials: 'Accounts of end users at apps.',
  'Custom connectors': 'Apps that you add to an environment while the service runs.',
  'OAuth apps': 'Client ids and secrets that you registered at apps.',
  'Connecting accounts': 'Links, pages and forms by which a person connects an account.',
  'Unified models': 'Records of apps in one form, and your own fields of them.',
  Webhooks: 'Subscriptions to events, and their deliveries.',
  'Webhooks of apps': 'Addresses to which apps send their webhooks.',
  Workflows: 'Workflows, their versions, installations and runs.',
  Executions: 'The record of calls.',
  Administration: 'Settings, API keys and the record of administration.',
  Service: 'Health, public keys and this description.',
  MCP: 'The Model Context Protocol.',
};

/**
 * Returns the OpenAPI 3.1 document of every route, printed from the same values that define the routes.
 *
 * @throws Error for a recursive schema without an id.
 */
export function openApiDocument(routes: Route[], publicUrl: string): SchemaObject {
  const components = new Components();
  // Answers come first, because a request model gets its own name when it differs from the answers' model.
  components.schemaOf(errorBody, 'output', 'Error');
  const answers = new Map(routes.map((route) => [route, answersOf(route.spec, components)]));
  const paths: Record<string, SchemaObject> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(
      route.spec,
      components,
      answers.get(route) ?? {},
    );
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse',
      version: '2.0',
      summary: 'Controlled access to third-party apps for AI agents.',
      description:
        'Management of MCP servers, end users, credentials and actions. The MCP endpoints are `/mcp/{serverId}` ' +
        'and `/mcp/{serverId}/{accessToken}`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl }],
    tags: [...new Set([...routes.map((route) => route.spec.tag), 'MCP'])].map((name) => ({
      name,
      description: TAGS[name] ?? `${name}.`,
    })),
    paths: { ...paths, ...mcpPaths() },
    components: {
      schemas: {
        ...components.schemas,
        JsonRpcRequest: JSON_RPC_REQUEST,
        JsonRpcResponse: JSON_RPC_RESPONSE,
      },
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: gh_dev_… or gh_prod_….' },
        browser: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-gatehouse',
          description: 'Cookie of a browser that opened a connect link. Named `gatehouse` without TLS.',
        },
        jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A JWT of an end user.' },
      },
    },
    'x-scopes': SCOPES,
  };
}

function operation(spec: RouteFacts, components: Components, answers: SchemaObject): SchemaObject {
  return {
    operationId: spec.operationId,
    tags: [spec.tag],
    summary: spec.summary,
    ...(spec.description ? { description: spec.description } : {}),
    security: security(spec),
    ...(spec.scope ? { 'x-scope': spec.scope } : {}),
    parameters: parametersOf(spec, components),
    ...requestBody(spec, components),
    responses: { ...answers, ...failures(spec) },
  };
}

function requestBody(spec: RouteFacts, components: Components): SchemaObject {
  if (spec.rawBody) {
    const { description, example } = spec.rawBody;
    const content = { '*/*': { schema: { type: 'string', format: 'binary' }, example } };
    return { requestBody: { required: false, description, content } };
  }
  if (!spec.body) return {};
  const schema = components.schemaOf(spec.body, 'input', spec.operationId);
  const example = exampleOf(schema, { schemas: components.schemas, only: 'required' });
  const required = !spec.body.safeParse(undefined).success;
  return { requestBody: { required, content: { 'application/json': { schema, example } } } };
}

/** Returns the success answers of a route, by status. */
function answersOf({ operationId, success, otherwise }: RouteFacts, components: Components): SchemaObject {
  const answer = ({ description, schema: type, contentType, example: own }: RouteFacts['success']) => {
    const json = contentType === undefined;
    const schema = json ? components.schemaOf(type, 'output', operationId) : { type: 'string' };
    const example = own ?? exampleOf(schema, { schemas: components.schemas, only: 'all' });
    return { description, content: { [contentType ?? 'application/json']: { schema, example } } };
  };
  return {
    [success.status]: answer(success),
    ...(otherwise ? { [otherwise.status]: answer(otherwise) } : {}),
  };
}

function security(spec: RouteFacts): SchemaObject[] {
  switch (spec.auth) {
    case 'none':
      return [];
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

/**
 * Returns the error answers of a route: its own and those of its kind, one entry for each status with its codes.
 */
function failures(spec: RouteFacts): SchemaObject {
  const codes: ErrorCode[] = ['invalid_request', ...(spec.errors ?? [])];
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
    [...byStatus.entries()].sort(([a], [b]) => a - b).map(([status, set]) => [status, refusal(status, set)]),
  );
}

function refusal(status: number, codes: Set<ErrorCode>): SchemaObject {
  return {
    description: [...codes].map((code) => `\`${code}\``).join(', '),
    ...(SPEC_STATUSES.has(status) ? {} : { 'x-beyond-spec': true }),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
}
