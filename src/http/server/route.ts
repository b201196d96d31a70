import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { withoutTokens } from '../../crypto/tokens.ts';
import { assertScope, bearerOf, type Caller } from '../../identity/caller.ts';
import type { Scope } from '../../identity/scopes.ts';
import { assertAllowedPage, foreignOrigin, subjectOf, userOfRequest } from '../../identity/visit.ts';
import { browserOf } from './browser.ts';
import { answerWithoutEffect } from './looked-ahead.ts';
import { parse, queryValues, readJson, type LargeBody } from './read-input.ts';
import { consoleCaller, consoleToken } from './console-cookie.ts';
import { unpackedStream } from '../../lib/http/body-text.ts';
import type { Correction } from '../../lib/correction.ts';
import { GatehouseError, withDetails, type ErrorCode } from '../../lib/errors.ts';
import { headerText } from '../../lib/http/header-text.ts';
import { MIB, readBytes, streamBytes, type HeldRoom } from '../../lib/http/http-body.ts';
import type { Json } from '../../lib/json.ts';
import type { Environment } from '../../store/environments.ts';

const API_VERSIONS = ['2025-09'];
const MAX_TARGET = 500;
/** Longest body of a request without a credential, where the route does not read it itself. */
export const ANONYMOUS_BODY_BYTES = 16 * 1024;

/** The checked input of a handler. */
export interface RouteInput<Params, Query, Body> {
  context: Context;
  caller: Caller;
  requestId: string;
  params: Params;
  query: Query;
  body: Body;
  /** The body of a route with `largeBody` that is longer than other bodies may be, unparsed. */
  largeBody: Buffer | undefined;
  /** The corrections of a route with `correct`. Error answers have them in `details.corrections`. */
  corrections: readonly Correction[];
  /**
   * Reads the raw body of a route with `rawBody`. The handler calls it after its own checks.
   * @throws GatehouseError as readBytes().
   */
  readRaw(room?: HeldRoom): Promise<Buffer>;
  /**
   * Returns the body of a route with `rawBody` as it arrives, without its Content-Encoding.
   * @throws GatehouseError as streamBytes() and unpackedStream().
   */
  streamRaw(): AsyncIterable<Buffer>;
  /** The request itself, for checks of its headers. */
  request: IncomingMessage;
  /** Token of the console's session in the cookie; undefined without one. */
  consoleToken(): string | undefined;
  /** The existing user of x-svc-userid or of the JWT; undefined when the route allows none. */
  userId: string | undefined;
  /** Address of the connected peer: of the reverse proxy where there is one. */
  peer: string;
  /** Returns a request header by its lower-case name. */
  header(name: string): string | undefined;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
}

/** The target that the path names, and the user who must own it. */
export interface OwnedTarget<Params> {
  environment: Environment;
  userId: string;
  params: Params;
}

/** The path and the body of a request before their check. */
export interface Uncorrected {
  environment: Environment;
  params: Record<string, unknown>;
  body: Json;
  corrections: Correction[];
}

export interface Reply {
  status?: number;
  /** Texts, buffers and streams are sent unchanged, other values as JSON. */
  body: unknown;
  /** A list is sent as one header for each value. */
  headers?: Record<string, string | string[]>;
  /** Id of the target for the audit log, where the path does not hold it. Each of several is an entry of its own. */
  auditTarget?: string | readonly string[];
  /** Set where the answer of an audited route reveals no token and nothing changed. */
  unaudited?: true;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type Auth = 'none' | 'api_key' | 'api_key_or_jwt' | 'jwt' | 'jwt_or_browser';

/**
 * An answer in the OpenAPI document. Its example is built from the examples of its fields unless it has its own.
 */
export interface DocumentedResponse {
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
  method: Method;
  /** `/api/servers/{serverId}` */
  path: string;
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  /**
   * `none`: open to all. `api_key`: only keys. `api_key_or_jwt`: also users, for their own data. `jwt`: only users.
   * `jwt_or_browser`: a user's JWT, or the cookie of a browser that opened a connect link.
   */
  auth: Auth;
  /** Whether pages of the environment's origins may call it with a user's JWT. */
  cors?: boolean;
  scope?: Scope;
  /** Whether the request must send x-api-version. */
  apiVersion?: boolean;
  /**
   * How x-svc-userid is used. `existing`: it must name a user when given. `owner`: stored unchecked, as the owner.
   */
  user?: 'required' | 'existing' | 'owner';
  /**
   * Checks before the handler that the request's user owns the target of the path. @throws the error of a missing
   * target
   */
  assertOwner?(context: Context, target: OwnedTarget<z.output<P>>): Promise<unknown>;
  /** Further request headers that the handler reads, with their descriptions. */
  headers?: Record<string, string>;
  params?: P;
  query?: Q;
  body?: B;
  /** Corrects the path and the body before their check, and adds to the corrections. */
  correct?(context: Context, given: Uncorrected): { params: Record<string, unknown>; body: Json };
  /** The body is passed on unparsed, up to `maxBytes`, when the handler reads it. */
  rawBody?: { maxBytes: number; description: string; example: string };
  /** The body holds schemas of an API. Its numbers beyond 2^53 are rounded. */
  isDocument?: true;
  /**
   * A longer body is passed on unparsed, up to `maxBytes`, because parsing it would block the event loop. `body` is
   * then this value. `localMaxBytes`: the limit for the command line of this machine.
   */
  largeBody?: { maxBytes: number; localMaxBytes: number; body: z.output<B> };
  /** The success answer: status, description and schema. */
  success: DocumentedResponse;
  /** A second success answer, for an operation with two. */
  otherwise?: DocumentedResponse;
  /** Error codes in addition to those of every route of its kind. */
  errors?: ErrorCode[];
  /** Whether a GET has an effect. HEAD and pages that a browser loads ahead then run no handler. */
  actsOnGet?: true;
  /** Whether calls are recorded in the audit log: changes, and answers that reveal a token. */
  audited?: boolean;
  handler(input: RouteInput<z.output<P>, z.output<Q>, z.output<B>>): Promise<Reply>;
}

/** The properties of a route without its code. */
export type RouteFacts = Omit<RouteSpec<Shape, Shape, z.ZodType>, 'handler' | 'assertOwner'>;

/** A route without its type parameters, for mounting and for the OpenAPI document. */
export interface Route {
  readonly method: Method;
  readonly path: string;
  readonly spec: RouteFacts;
  /**
   * Runs the whole endpoint: authentication, checks, handler, audit. @throws GatehouseError for every error answer.
   */
  run(context: Context, request: RouteRequest): Promise<Reply>;
}

export interface RouteRequest {
  req: IncomingMessage;
  requestId: string;
  params: Record<string, unknown>;
  query: URLSearchParams;
  signal: AbortSignal;
  /** Adds headers to the answer, also to an error answer. */
  addHeaders(headers: Record<string, string>): void;
}

/** Defines an endpoint as one value: method, path, access, input, output and handler. */
export function defineRoute<
  P extends Shape = Nothing,
  Q extends Shape = Nothing,
  B extends z.ZodType = z.ZodUndefined,
>(spec: RouteSpec<P, Q, B>): Route {
  const { handler, assertOwner, ...facts } = spec;
  const bodyShape = spec.body ?? NO_BODY;
  return {
    method: spec.method,
    path: spec.path,
    spec: facts,
    async run(context, request) {
      const inert = spec.actsOnGet && answerWithoutEffect(request.req);
      if (inert) return inert;
      const caller = await authenticate(context, spec.auth, request.req);
      if (caller.kind === 'jwt') request.addHeaders(await context.limits.user(caller.label));
      const corrections: Correction[] = [];
      let status = 500;
      let audited = spec.audited;
      const ids = Object.values(request.params).map(String).join(' ');
      let targets: readonly string[] = [ids];
      try {
        if (spec.auth !== 'none')
          await assertOrigin(context, request.req, { caller, cors: spec.cors === true });
        if (spec.scope && caller !== NO_CALLER) assertScope(caller, spec.scope);
        if (spec.apiVersion) assertApiVersion(request.req);
        let params = parse(spec.params ?? NOTHING, request.params, 'The path');
        const query = parse(spec.query ?? NOTHING, queryValues(request.query), 'The query');
        const correct = (body: Json): Json => {
          if (!spec.correct) return body;
          const given = { environment: caller.environment, params: request.params, body, corrections };
          const corrected = spec.correct(context, given);
          params = parse(spec.params ?? NOTHING, corrected.params, 'The path');
          return corrected.body;
        };
        const { body, largeBody } = spec.rawBody
          ? NO_INPUT
          : await readJson(bodyShape, request.req, {
              maxBytes: caller === NO_CALLER ? ANONYMOUS_BODY_BYTES : MIB,
              large: largeBodyOf(spec.largeBody, caller),
              isDocument: spec.isDocument === true,
              correct,
            });
        const userId = await resolveUser(context, request.req, { caller, rule: spec.user });
        // parse() checked these values by the same schemas, but the compiler cannot follow the default NOTHING.
        const checked = {
          params: params as z.output<P>,
          query: query as z.output<Q>,
          body: body as z.output<B>,
        };
        if (assertOwner && userId !== undefined) {
          await assertOwner(context, { environment: caller.environment, userId, params: checked.params });
        }
        const reply = await handler({
          context,
          caller,
          requestId: request.requestId,
          ...checked,
          largeBody,
          corrections,
          readRaw: (room) => readBytes(request.req, spec.rawBody?.maxBytes ?? 0, room),
          streamRaw() {
            const maxBytes = spec.rawBody?.maxBytes ?? 0;
            const encoding = request.req.headers['content-encoding'];
            return unpackedStream(streamBytes(request.req, maxBytes), encoding, maxBytes);
          },
          request: request.req,
          consoleToken: () => consoleToken(context, request.req),
          userId,
          peer: request.req.socket.remoteAddress ?? '',
          header: (name) => headerText(request.req, name),
          signal: request.signal,
        });
        status = reply.status ?? spec.success.status;
        if (ids === '' && reply.auditTarget !== undefined) targets = [reply.auditTarget].flat();
        if (reply.unaudited) audited = false;
        return { ...reply, status };
      } catch (error) {
        if (!(error instanceof GatehouseError)) throw error;
        status = error.status;
        throw corrections.length === 0 ? error : withDetails(error, { corrections });
      } finally {
        if (audited) {
          const entry = {
            environment: caller.environment,
            requestId: request.requestId,
            caller: caller.label,
            operation: spec.operationId,
            status,
          };
          await Promise.all(
            targets.map((one) => context.audit.record({ ...entry, target: auditTarget(one) })),
          );
        }
      }
    },
  };
}

/**
 * Returns a target as the log stores it. Removes tokens, because a caller may send one in place of an id, and characters
 * that a database rejects.
 */
function auditTarget(text: string): string | undefined {
  return (
    withoutTokens(text)
      .slice(0, MAX_TARGET)
      .replaceAll(/[^\x20-\x7e]/g, '?') || undefined
  );
}

const NO_CALLER: Caller = {
  kind: 'local',
  environment: 'development',
  label: 'nobody',
  userId: undefined,
  scopes: new Set(),
};

async function authenticate(context: Context, auth: Auth, req: IncomingMessage): Promise<Caller> {
  if (auth === 'none') return NO_CALLER;
  if (auth === 'jwt_or_browser' && req.headers.authorization === undefined) {
    if (browserOf(context, req.headers.cookie) !== undefined) return NO_CALLER;
  }
  const session = auth.startsWith('api_key') ? await consoleCaller(context, req) : undefined;
  const caller = session ?? (await context.callers.fromBearer(bearerOf(req.headers.authorization)));
  if (auth === 'api_key' && caller.kind === 'jwt') {
    throw new GatehouseError('forbidden', 'This operation needs an API key. A user JWT is not accepted.');
  }
  if (auth.startsWith('jwt') && caller.kind !== 'jwt') {
    throw new GatehouseError('forbidden', "This operation needs a user's JWT. An API key is not accepted.");
  }
  return caller;
}

function assertApiVersion(req: IncomingMessage): void {
  const version = headerText(req, 'x-api-version');
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

/**
 * Checks the origin of a browser page that is not ours (docs/embedding.md, Settings). With a user's JWT it may call the
 * connect routes, if the environment lists its origin.
 * @throws GatehouseError `forbidden`
 */
async function assertOrigin(
  context: Context,
  req: IncomingMessage,
  { caller, cors }: { caller: Caller; cors: boolean },
): Promise<void> {
  const origin = foreignOrigin(context, req);
  if (origin === undefined) return;
  const environments = caller.kind === 'jwt' && cors ? [caller.environment] : [];
  const page = { origin, environments, local: environments.includes('development') };
  await assertAllowedPage(context, page, {
    caller,
    instead: 'a user JWT',
    refusal:
      'Pages of this origin may not call this. An operator can add it to the origins of the settings, only for connecting accounts.',
  });
}

async function resolveUser(
  context: Context,
  req: IncomingMessage,
  { caller, rule }: { caller: Caller; rule: RouteFacts['user'] },
): Promise<string | undefined> {
  const named = headerText(req, 'x-svc-userid');
  if (caller.kind === 'jwt') return subjectOf([caller], named);
  if (rule === undefined) return undefined;
  if (rule === 'owner') return named;
  if (named === undefined && rule === 'required') {
    throw new GatehouseError(
      'user_id_missing',
      'The header x-svc-userid is missing. Send the userId of an end user.',
    );
  }
  return userOfRequest(context, caller.environment, { callers: [], named });
}

/**
 * A route without a body accepts an empty object, which many clients send. Members of it would be ignored, so they
 * are rejected.
 */
const NO_BODY = NOTHING.optional();
const NO_INPUT = { body: undefined, largeBody: undefined };

function largeBodyOf(large: RouteFacts['largeBody'], { kind }: Caller): LargeBody | undefined {
  if (!large) return undefined;
  return { body: large.body, maxBytes: kind === 'local' ? large.localMaxBytes : large.maxBytes };
}
