import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import express, { type Express, type Request, type Response, type Router } from 'express';
import helmet from 'helmet';
import type { Context } from '../context.ts';
import {
  answerInSpan,
  bringsNoCredential,
  countRefusal,
  countRequest,
  createRequestLog,
  foreignOrigin,
  isAllowedPage,
  openVisit,
  type LogRequest,
  type Visit,
} from '../../identity/visit.ts';
import { answerError, GatehouseError, hidesCause, invalidRequest } from '../../lib/errors.ts';
import { errorHandler } from '../../lib/http/express-errors.ts';
import { discardRest } from '../../lib/http/http-body.ts';
import { jsonText } from '../../lib/json-text-steps.ts';
import { ENVIRONMENTS } from '../../store/environments.ts';
import type { Reply, Route, RouteFacts } from './route.ts';

/** Headers of an answer that pages of other origins may read. */
const EXPOSED_HEADERS = 'X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset';

interface Surface {
  context: Context;
  logRequest: LogRequest;
}

/** A request with its answer. */
interface Exchange {
  req: Request;
  res: Response;
  visit: Visit;
}

/** Mounts the routes on Express. mountNotFound() adds the JSON 404 and the error answers. */
export function mountRoutes(context: Context, routes: Route[]): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  const headers = securityHeaders(context);
  app.use((_req, res, next) => {
    for (const [name, value] of headers) res.setHeader(name, value);
    next();
  });
  const surface = { context, logRequest: createRequestLog(context) };
  for (const [prefix, group] of byPrefix(routes)) app.use(prefix, routerOf(surface, prefix, group));
  return app;
}

/**
 * Returns the headers that helmet sets. Computed once, because its fifteen handlers cost as much as a whole small
 * answer.
 */
function securityHeaders(context: Context): [name: string, value: string][] {
  const req = new IncomingMessage(new Socket());
  const res = new ServerResponse(req);
  const set = helmet({
    strictTransportSecurity: context.publicUrl.startsWith('https:'),
    // The Content-Security-Policy names the pages that may frame a page. X-Frame-Options could only contradict it.
    xFrameOptions: false,
  });
  set(req, res, () => {});
  return Object.entries(res.getHeaders()).map(([name, value]) => [name, String(value)]);
}

/**
 * Groups routes by the literal beginning of their path, up to two segments, longer beginnings first. Express tries
 * one path after the other, so a request is compared only with the routes of its group.
 */
function byPrefix(routes: Route[]): [prefix: string, routes: Route[]][] {
  const groups = Map.groupBy(routes, ({ path }) => /^(\/[^/{]+){0,2}(?=\/|$)/.exec(path)?.[0] || '/');
  return [...groups].toSorted(([a], [b]) => b.split('/').length - a.split('/').length);
}

function routerOf(surface: Surface, prefix: string, routes: Route[]): Router {
  const router = express.Router();
  const within = (path: string): string => expressPath(path).slice(prefix === '/' ? 0 : prefix.length) || '/';
  for (const route of routes) {
    router.all(within(route.path), (req, res, next) => {
      if (req.method !== route.method && !isHeadOf(route, req)) return next();
      return answer(surface, route, { req, res, visit: visitOf(res, route.path) });
    });
  }
  for (const [path, methods] of methodsByPath(routes.filter(({ spec }) => spec.cors))) {
    router.options(within(path), (req, res) =>
      preflight(surface.context, methods, { req, res, visit: visitOf(res, path) }),
    );
  }
  for (const [path, methods] of methodsByPath(routes)) {
    router.all(within(path), (req, res) => {
      const allow = methods.join(', ');
      const refusal = new GatehouseError(
        'method_not_allowed',
        `${req.method} is not allowed here. Allowed: ${allow}.`,
        {
          headers: { Allow: allow },
        },
      );
      refuse(surface.context, { res, visit: visitOf(res, path) }, refusal);
    });
  }
  return router;
}

/** Mounts the JSON 404 for paths without a route. Must be mounted last. */
export function mountNotFound(context: Context, app: Express): void {
  app.use((_req: Request, res: Response) => {
    const refusal = new GatehouseError(
      'not_found',
      'There is nothing at this address. The documentation is at /docs.',
    );
    refuse(context, { res, visit: visitOf(res, '(none)') }, refusal);
  });
  // Express itself rejects paths that cannot be decoded.
  app.use(
    errorHandler((error, res) => {
      const refusal = error instanceof URIError ? invalidPath() : error;
      refuse(context, { res, visit: visitOf(res, '(none)') }, refusal);
    }),
  );
}

/** Returns an error that does not repeat the path, because a path may hold a token. */
function invalidPath(): GatehouseError {
  return invalidRequest([{ field: '(whole)', rule: 'must be percent-encoded UTF-8' }], 'The path');
}

async function answer(
  { context, logRequest }: Surface,
  route: Route,
  { req, res, visit }: Exchange,
): Promise<void> {
  const gone = new AbortController();
  // An abort creates an error with its stack, which an answered request does not need.
  res.on('close', () => {
    if (!res.writableFinished) gone.abort();
  });
  await answerInSpan(context, { req, res, visit }, async () => {
    try {
      if (route.spec.cors) await allowOrigin(context, req, res);
      const reply = await route.run(context, {
        req,
        requestId: visit.requestId,
        params: req.params,
        query: queryOf(req.originalUrl),
        signal: gone.signal,
        addHeaders: (headers) => res.setHeaders(new Map(Object.entries(headers))),
      });
      await sendReply(context, res, reply);
    } catch (error) {
      const facts = {
        req,
        anonymous: isAnonymous(route.spec, req),
        lacksCredential: route.spec.auth !== 'none' && bringsNoCredential(req),
      };
      const refusal = await countRefusal(context, facts, error);
      if (refusal instanceof GatehouseError && refusal.headers['Connection'] === 'close')
        await discardRest(req);
      sendError(context, { res, visit }, refusal);
    }
  });
  logRequest(req, res, visit);
}

/**
 * Returns whether a request needs no credential. The address of a webhook or call trigger holds one, and its sender
 * repeats it.
 */
function isAnonymous({ auth, rawBody }: RouteFacts, { headers }: Request): boolean {
  if (auth === 'jwt_or_browser') return headers.authorization === undefined;
  return auth === 'none' && rawBody === undefined;
}

const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' };

function queryOf(url: string): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : url.slice(at + 1));
}

/**
 * Lets pages of allowed origins read the answer (fetch standard, CORS protocol). route.ts decides whether they may
 * call.
 */
async function allowOrigin(context: Context, req: Request, res: Response): Promise<boolean> {
  res.setHeader('Vary', 'Origin');
  const origin = foreignOrigin(context, req);
  if (origin === undefined) return false;
  // The JWT is not read yet, so either environment may list the origin.
  if (!(await isAllowedPage(context, { origin, environments: ENVIRONMENTS, local: true }))) return false;
  res.setHeader('Access-Control-Allow-Origin', origin);
  res.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
  return true;
}

async function preflight(context: Context, methods: string[], { req, res, visit }: Exchange): Promise<void> {
  if (await allowOrigin(context, req, res)) {
    res.setHeader('Access-Control-Allow-Methods', methods.join(', '));
    res.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type, x-api-version');
    res.setHeader('Access-Control-Max-Age', '600');
  }
  res.writeHead(204).end();
  countRequest(context.telemetry, visit, { method: req.method, status: 204 });
}

/** Writes a large answer in steps, because an action may return 10 MiB. */
async function sendReply({ throttle }: Context, res: ServerResponse, reply: Reply): Promise<void> {
  const { body } = reply;
  if (body instanceof Readable) return sendStream(res, { ...reply, body });
  if (typeof body === 'string' || Buffer.isBuffer(body)) return send(res, reply);
  const text = await jsonText(body, throttle.pause);
  send(res, { ...reply, body: text, headers: { ...JSON_TYPE, ...reply.headers } });
}

/**
 * Writes a stream. A failure in the middle closes the connection, so that the client sees an incomplete answer. A client
 * that hangs up ends the answer, which is no failure.
 */
async function sendStream(
  res: ServerResponse,
  { status = 200, body, headers = {} }: Reply & { body: Readable },
): Promise<void> {
  res.writeHead(status, { 'Cache-Control': 'no-store', ...headers });
  if (res.req.method === 'HEAD') {
    body.destroy();
    res.end();
    return;
  }
  let isBroken = false;
  // pipeline() destroys both ends. The end that closed first shows whether the source broke or the client hung up.
  body.once('error', () => (isBroken ||= !res.destroyed));
  body.once('close', () => (isBroken ||= !res.destroyed && !body.readableEnded));
  try {
    await pipeline(body, res);
  } catch (error) {
    if (isBroken || !res.destroyed) throw error;
  }
}

function send(res: ServerResponse, { status = 200, body, headers = {} }: Reply): void {
  const raw = typeof body === 'string' || Buffer.isBuffer(body);
  const content = raw ? body : JSON.stringify(body);
  res.writeHead(status, {
    ...(raw ? {} : JSON_TYPE),
    // No cache may store an answer without its own policy. Otherwise caches may store a 404 or 410 (RFC 9110
    // section 15.1).
    'Cache-Control': 'no-store',
    ...(status === 304 ? {} : { 'Content-Length': Buffer.byteLength(content) }),
    ...headers,
  });
  res.end(content);
}

/** Answers a request that no route takes. It has no log line, but counts. */
function refuse(
  context: Context,
  { res, visit }: { res: ServerResponse; visit: Visit },
  thrown: unknown,
): void {
  sendError(context, { res, visit }, thrown);
  countRequest(context.telemetry, visit, { method: res.req.method, status: res.statusCode });
}

function sendError(
  context: Context,
  { res, visit: { requestId, route } }: { res: ServerResponse; visit: Visit },
  thrown: unknown,
): void {
  const error = answerError(thrown);
  if (hidesCause(error)) context.log.error({ requestId, route, err: error.cause }, 'request failed');
  if (res.headersSent) {
    res.destroy();
    return;
  }
  send(res, {
    status: error.status,
    headers: error.headers,
    body: {
      error: error.fix === undefined ? error.message : `${error.message} ${error.fix}`,
      code: error.code,
      requestId,
      ...(error.details ? { details: error.details } : {}),
    },
  });
}

function visitOf(res: ServerResponse, route: string): Visit {
  const visit = openVisit(route);
  res.setHeader('X-Request-Id', visit.requestId);
  return visit;
}

function expressPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** Returns whether a HEAD request matches a GET route. Node.js leaves out the body (RFC 9110 section 9.3.2). */
function isHeadOf({ method }: Route, req: Request): boolean {
  return req.method === 'HEAD' && method === 'GET';
}

function methodsByPath(routes: Route[]): Map<string, string[]> {
  const methods = new Map<string, string[]>();
  for (const { path, method } of routes)
    methods.set(path, [...(methods.get(path) ?? []), method, ...(method === 'GET' ? ['HEAD'] : [])]);
  return methods;
}
