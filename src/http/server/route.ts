import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Context } from '../../context.ts';
import { withoutTokens } from '../../crypto/tokens.ts';
import { assertScope, bearerOf, type Caller } from '../../identity/caller.ts';
import type { Scope } from '../../identity/scopes.ts';
import { findUser, userNotFound } from '../../identity/users.ts';
import { browserOf } from './browser.ts';
import { assertOriginFits } from './origins.ts';
import { GatehouseError, invalidRequest, type ErrorCode, type Fault } from '../../lib/errors.ts';
import { jsonFromBody, MIB, readBody, readBytes, type HeldRoom } from '../../lib/http-body.ts';
import type { Environment } from '../../store/schema.ts';

const API_VERSIONS = ['2025-09'];
const BODY_BYTES = MIB;
const MAX_TARGET = 500;
/** Characters of a field's name in a fault. */
const MAX_FIELD = 200;

/** What a handler is given: everything checked, so that it only does its work. */
export interface RouteInput<Params, Query, Body> {
  context: Context;
  caller: Caller;
  requestId: string;
  params: Params;
  query: Query;
  body: Body;
  /**
   * The body as it came, where the route takes it so: read when the handler asks, once it knows that it is wanted.
   * @throws GatehouseError as readBytes().
   */
  readRaw(room?: HeldRoom): Promise<Buffer>;
  /** The user of x-svc-userid (or of the JWT), which exists; undefined where the route allows none. */
  userId: string | undefined;
  /** A request header by its lower-case name. */
  header(name: string): string | undefined;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
}

/** The user to whom it must belong, and the path that names it. */
export interface Whose<Params> {
  environment: Environment;
  userId: string;
  params: Params;
}

export interface Reply {
  status?: number;
  body: unknown;
  headers?: Record<string, string>;
}

export type Auth = 'none' | 'api_key' | 'api_key_or_jwt' | 'jwt' | 'jwt_or_browser';

/** An answer as OpenAPI shows it. Its example is built from the examples of its fields, unless it has its own. */
export interface Answer {
  status: number;
  description: string;
  schema: z.ZodType;
  contentType?: string;
  example?: unknown;
}

type Shape = z.ZodType<Record<string, unknown>>;
const NOTHING = z.strictObject({});
type Nothing = typeof NOTHING;

export interface RouteSpec<P extends Shape, Q extends Shape, B extends z.ZodType> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `/api/servers/{serverId}` */
  path: string;
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  /** `none`: open to all. `api_key`: keys alone. `api_key_or_jwt`: users too, for what is theirs. `jwt`: users alone.
   *  `jwt_or_browser`: a user's JWT, or a browser that has opened a connect link, known by its cookie. */
  auth: Auth;
  /** Pages of the environment's origins may call it with a user's JWT. */
  cors?: boolean;
  scope?: Scope;
  /** Whether the request must send x-api-version. */
  apiVersion?: boolean;
  /** x-svc-userid. `existing`: it must name a user when given. `owner`: taken as it is, for ownership. */
  user?: 'required' | 'existing' | 'owner';
  /** Runs before the handler where a user is known. @throws as for what is absent, unless what the path names is theirs. */
  theirs?(context: Context, whose: Whose<z.output<P>>): Promise<unknown>;
  /** Further request headers that the handler reads, with what they mean. */
  headers?: Record<string, string>;
  params?: P;
  query?: Q;
  body?: B;
  /** The body is taken as it comes, up to so many bytes, when the handler reads it. */
  rawBody?: { maxBytes: number; description: string; example: string };
  /** The success answer: its status, what it is, its shape. */
  success: Answer;
  /** Another success, where one operation has two. */
  otherwise?: Answer;
  /** Codes of refusals beyond those that every route of its kind can give. */
  errors?: ErrorCode[];
  /** Recorded as administration: changes, and answers that reveal a token. */
  audited?: boolean;
  handler(input: RouteInput<z.output<P>, z.output<Q>, z.output<B>>): Promise<Reply>;
}

/** What a route says of itself, without its code. */
export type RouteFacts = Omit<RouteSpec<Shape, Shape, z.ZodType>, 'handler' | 'theirs'>;

/** A route with its types forgotten: what the app mounts and OpenAPI prints. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly spec: RouteFacts;
  /** Runs the whole endpoint: authentication, checks, handler, audit. @throws GatehouseError for every refusal. */
  run(context: Context, request: RouteRequest): Promise<Reply>;
}

export interface RouteRequest {
  req: IncomingMessage;
  requestId: string;
  params: Record<string, unknown>;
  query: URLSearchParams;
  signal: AbortSignal;
  /** Adds headers to the answer, a refusal included. */
  addHeaders(headers: Record<string, string>): void;
}

/** An endpoint as one value: method, path, who may, what goes in and out, and the handler. */
export function defineRoute<
  P extends Shape = Nothing,
  Q extends Shape = Nothing,
  B extends z.ZodType = z.ZodUndefined,
>(spec: RouteSpec<P, Q, B>): Route {
  const { handler, theirs, ...facts } = spec;
  const bodyShape = spec.body ?? NO_BODY;
  return {
    method: spec.method,
    path: spec.path,
    spec: facts,
    async run(context, request) {
      const caller = await authenticate(context, spec.auth, request.req);
      if (caller.kind === 'jwt') request.addHeaders(await context.limits.user(caller.label));
      let status = 500;
      try {
        await assertOriginFits(context, request.req, {
          caller,
          open: spec.auth === 'none',
          cors: spec.cors === true,
        });
        if (spec.scope && caller !== NOBODY) assertScope(caller, spec.scope);
        if (spec.apiVersion) assertApiVersion(request.req);
        const params = parse(spec.params ?? NOTHING, request.params, 'The path');
        const query = parse(spec.query ?? NOTHING, queryValues(request.query), 'The query');
        const body = spec.rawBody ? undefined : await readJson(bodyShape, request.req);
        const userId = await resolveUser(context, spec.user, caller, request.req);
        // parse() above ran these very schemas; a default of NOTHING is beyond what the compiler follows.
        const checked = {
          params: params as z.output<P>,
          query: query as z.output<Q>,
          body: body as z.output<B>,
        };
        if (theirs && userId !== undefined) {
          await theirs(context, { environment: caller.environment, userId, params: checked.params });
        }
        const reply = await handler({
          context,
          caller,
          requestId: request.requestId,
          ...checked,
          readRaw: (room) => readBytes(request.req, spec.rawBody?.maxBytes ?? 0, room),
          userId,
          header: (name) => headerOf(request.req, name),
          signal: request.signal,
        });
        status = reply.status ?? spec.success.status;
        return { ...reply, status };
      } catch (error) {
        if (error instanceof GatehouseError) status = error.status;
        throw error;
      } finally {
        if (spec.audited) {
          await context.audit.record({
            environment: caller.environment,
            requestId: request.requestId,
            caller: caller.label,
            operation: spec.operationId,
            target: auditTarget(request.params),
            status,
          });
        }
      }
    },
  };
}

/** The ids of the path. A token may stand where an id belongs. */
function auditTarget(params: Record<string, unknown>): string | undefined {
  return withoutTokens(Object.values(params).map(String).join(' ')).slice(0, MAX_TARGET) || undefined;
}

const NOBODY: Caller = {
  kind: 'local',
  environment: 'development',
  label: 'nobody',
  userId: undefined,
  scopes: new Set(),
};

async function authenticate(context: Context, auth: Auth, req: IncomingMessage): Promise<Caller> {
  if (auth === 'none') return NOBODY;
  if (auth === 'jwt_or_browser' && req.headers.authorization === undefined) {
    if (browserOf(context, req.headers.cookie) !== undefined) return NOBODY;
  }
  const caller = await context.callers.fromBearer(bearerOf(req.headers.authorization));
  if (auth === 'api_key' && caller.kind === 'jwt') {
    throw new GatehouseError('forbidden', 'This operation takes an API key; a user JWT does not open it.');
  }
  if (auth.startsWith('jwt') && caller.kind !== 'jwt') {
    throw new GatehouseError('forbidden', "This operation takes a user's JWT; an API key does not open it.");
  }
  return caller;
}

function assertApiVersion(req: IncomingMessage): void {
  const version = headerOf(req, 'x-api-version');
  if (version === undefined) {
    throw new GatehouseError(
      'api_version_missing',
      `The header x-api-version is missing. Send: x-api-version: ${API_VERSIONS[0]}.`,
    );
  }
  if (!API_VERSIONS.includes(version)) {
    throw new GatehouseError(
      'api_version_unsupported',
      `x-api-version "${version.slice(0, 40)}" is not supported. Supported: ${API_VERSIONS.join(', ')}.`,
    );
  }
}

async function resolveUser(
  context: Context,
  rule: 'required' | 'existing' | 'owner' | undefined,
  caller: Caller,
  req: IncomingMessage,
): Promise<string | undefined> {
  const named = headerOf(req, 'x-svc-userid');
  if (caller.kind === 'jwt') {
    if (named !== undefined && named !== caller.userId) {
      throw new GatehouseError(
        'forbidden',
        'x-svc-userid names another user than the JWT, which acts for its own alone.',
      );
    }
    return caller.userId;
  }
  if (rule === undefined) return undefined;
  if (named === undefined) {
    if (rule !== 'required') return undefined;
    throw new GatehouseError(
      'user_id_missing',
      'The header x-svc-userid is missing. Send the userId of an end user.',
    );
  }
  if (rule === 'owner') return named;
  const user = await findUser(context.db, caller.environment, named);
  if (!user) throw userNotFound(named);
  if (!user.enabled) throw new GatehouseError('forbidden', `The user "${named}" is disabled.`);
  return named;
}

/** A route that takes no body takes an empty object, which many clients send; a member of it would go unheeded. */
const NO_BODY = NOTHING.optional();

async function readJson(schema: z.ZodType, req: IncomingMessage): Promise<unknown> {
  const text = hasBody(req) ? await readBody(req, BODY_BYTES) : '';
  if (text === '') return parse(schema, schema.safeParse(undefined).success ? undefined : {}, 'The body');
  const type = headerOf(req, 'content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== undefined && type !== 'application/json' && !type.endsWith('+json')) {
    throw new GatehouseError(
      'unsupported_media_type',
      `The Content-Type is ${type.slice(0, 80)}. Send the body as application/json.`,
    );
  }
  return parse(schema, jsonFromBody(text), 'The body');
}

/** RFC 9112 section 6.3: a request without either header has no body, and nothing of it needs to be awaited. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** The parsed value. @throws GatehouseError `invalid_request` listing each fault by field. */
function parse(schema: z.ZodType, value: unknown, where: string): unknown {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw invalidRequest(parsed.error.issues.flatMap(toFaults), where);
}

function toFaults(issue: z.core.$ZodIssue): Fault[] {
  const at = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      field: (at ? `${at}.${key}` : key).slice(0, MAX_FIELD),
      rule: 'is not a known member',
    }));
  }
  if (issue.code === 'invalid_type' && issue.input === undefined && at !== '') {
    return [{ field: at, rule: 'is required' }];
  }
  return [{ field: at || '(whole)', rule: issue.message }];
}

/** A parameter given twice is an array, which no schema takes: repeated names never pick a winner silently. */
function queryValues(query: URLSearchParams): Record<string, string | string[]> {
  return Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const values = query.getAll(name);
      return [name, values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}

export function headerOf(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  const text = Array.isArray(value) ? value[0] : value;
  return text === undefined || text.trim() === '' ? undefined : text.trim();
}
