import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Base } from '../base.ts';
import { isLoopback } from '../lib/addresses.ts';
import { clientAddress } from '../lib/http/client-address.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Environment } from '../store/environments.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Caller } from './caller.ts';
import type { Context } from './context.ts';
import { findUser, userNotFound } from './users.ts';

/* The rules that admit a request, the same for REST and MCP: its user, its page, its refusals, its log line. */

/** A request under way. */
export interface Visit {
  requestId: string;
  /** When it arrived, ms of performance.now(). */
  startedAt: number;
  /** The template of its path, because a raw path may hold an access token. */
  route: string;
  /** The trace of the request; undefined without OTLP. */
  traceId?: string | undefined;
}

export function openVisit(route: string): Visit {
  return { requestId: randomUUID(), startedAt: performance.now(), route };
}

/** Facts that only MCP requests have. */
interface McpFacts {
  serverId?: string | undefined;
  rpcMethod?: string | undefined;
}

/** Writes the log line of an answered request, and counts it. */
export type LogRequest = (req: IncomingMessage, res: ServerResponse, visit: Visit & McpFacts) => void;

export function createRequestLog({ log, telemetry }: Pick<Base, 'log' | 'telemetry'>): LogRequest {
  // Redaction is off, because these fields hold no secrets and redacting would be most of the line's cost.
  const requests = log.child({}, { redact: [] });
  return ({ method }, { statusCode: status }, visit) => {
    const { requestId, traceId, route, serverId, rpcMethod } = visit;
    const durationMs = Math.round((performance.now() - visit.startedAt) * 10) / 10;
    countRequest(telemetry, visit, { method, status });
    requests.info({ requestId, traceId, method, route, serverId, rpcMethod, status, durationMs }, 'request');
  };
}

/** Routes of probes and scrapers. Their traces would only fill a collector. */
const PROBES: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics']);

/** Answers a request in a span that continues the trace of its headers. */
export function answerInSpan(
  { telemetry }: Pick<Base, 'telemetry'>,
  { req, res, visit }: { req: IncomingMessage; res: ServerResponse; visit: Visit },
  work: () => Promise<void>,
): Promise<void> {
  const { method = '' } = req;
  if (PROBES.has(visit.route)) return work();
  const { startedAt } = visit;
  return telemetry.span({ name: method, kind: 'server', parent: req.headers, startedAt }, async (span) => {
    visit.traceId = span.traceId;
    await work();
    const { statusCode: status } = res;
    span.note({
      name: `${method} ${visit.route}`,
      attributes: {
        'http.request.method': method,
        'http.route': visit.route,
        'http.response.status_code': status,
        'gatehouse.request_id': visit.requestId,
      },
    });
    // A refusal is no failure of the server (semantic conventions of HTTP).
    if (status >= 500) span.fail(String(status));
  });
}

/** Counts an answered request. */
export function countRequest(
  { httpRequests, httpDuration }: Metrics,
  { route, startedAt }: Pick<Visit, 'route' | 'startedAt'>,
  { method = '', status }: { method: string | undefined; status: number },
): void {
  // Node.js admits only methods that it knows, so there are few.
  httpRequests.count(route, method, String(status));
  httpDuration.observe((performance.now() - startedAt) / SECOND, route, method);
}

/** Refusals of a body or query. Without a credential they count, because each costs a parse. */
const FAULTY: ReadonlySet<number> = new Set([400, 413, 415]);

/** The facts of a request that decide whether its refusal counts. */
interface Refused {
  req: IncomingMessage;
  /** Its route needs no credential. */
  anonymous?: boolean;
  /** Its route needs a credential, and it brings none. */
  lacksCredential?: boolean;
}

/** Returns whether the headers of a request hold no key, JWT, token or session. */
export function bringsNoCredential({ headers }: IncomingMessage): boolean {
  return [headers.authorization, headers.cookie, headers['x-svc-user-token']].every(
    (one) => one === undefined,
  );
}

/**
 * Counts a 401 by address, and a faulty request that has no credential (`anonymous`). A 401 without any credential does not
 * count: MCP clients ask so how to sign in, and all users of a hosted client share its address. Returns the error to
 * answer: 429 for an address that was refused too often.
 */
export async function countRefusal(
  { limits, config }: Pick<Context, 'limits' | 'config'>,
  { req, anonymous = false, lacksCredential = false }: Refused,
  thrown: unknown,
): Promise<unknown> {
  if (!(thrown instanceof GatehouseError)) return thrown;
  const counts = thrown.status === 401 ? !lacksCredential : anonymous && FAULTY.has(thrown.status);
  if (!counts) return thrown;
  const address = clientAddress(req, config.trustedProxies);
  try {
    await limits.assertNotBlocked(address);
  } catch (barred) {
    return barred;
  }
  limits.refused(address);
  return thrown;
}

/**
 * Returns the user of a request: the subject of its JWTs, else the user that it names.
 * @throws GatehouseError `forbidden` when the two differ or the named user is disabled, `user_not_found`.
 */
export async function userOfRequest(
  { db }: Pick<Base, 'db'>,
  environment: Environment,
  { callers, named }: { callers: readonly (Caller | undefined)[]; named: string | undefined },
): Promise<string | undefined> {
  const subject = subjectOf(callers, named);
  if (subject !== undefined || named === undefined) return subject;
  const user = await findUser(db, environment, named);
  if (!user) throw userNotFound(named.slice(0, 64));
  if (!user.enabled) throw new GatehouseError('forbidden', `The user "${named}" is disabled.`);
  return named;
}

/**
 * Returns the user of the JWTs, or undefined without one.
 * @throws GatehouseError `forbidden` when a JWT, or the name that the request gives, is of another user.
 */
export function subjectOf(
  callers: readonly (Caller | undefined)[],
  named: string | undefined,
): string | undefined {
  const subjects = callers.map((caller) => caller?.userId).filter((userId) => userId !== undefined);
  const [subject] = subjects;
  if (subject === undefined) return undefined;
  if (subjects.every((other) => other === subject) && (named === undefined || named === subject))
    return subject;
  throw new GatehouseError(
    'forbidden',
    'The request names another user than its JWT. A JWT acts only for its own user.',
  );
}

/** A browser page that sends a request. */
export interface BrowserPage {
  origin: string;
  /** The environments whose listed origins may call. */
  environments: readonly Environment[];
  /** Whether pages of this machine may call without being listed. */
  local: boolean;
}

/** Returns the Origin of another site's page; undefined for our own pages and for clients other than browsers. */
export function foreignOrigin(
  { config, publicUrl }: Pick<Base, 'config' | 'publicUrl'>,
  { headers }: Pick<IncomingMessage, 'headers'>,
): string | undefined {
  const { origin } = headers;
  if (origin === undefined || origin === '' || origin === new URL(publicUrl).origin) return undefined;
  // On one machine 127.0.0.1 and localhost are the same page.
  const own = URL.canParse(origin) && new URL(origin).host === headers.host;
  return own && isLoopback(config.host) ? undefined : origin;
}

/** Returns whether a page of another site may call. */
export async function isAllowedPage(
  { originsOf }: Pick<Context, 'originsOf'>,
  { origin, environments, local }: BrowserPage,
): Promise<boolean> {
  if (local && URL.canParse(origin) && isLoopback(new URL(origin).hostname)) return true;
  for (const environment of environments) {
    if ((await originsOf(environment)).includes(origin)) return true;
  }
  return false;
}

/**
 * Checks that a page of another site may call. An API key is always rejected, because keys stay on servers.
 * @throws GatehouseError `forbidden`, with `refusal` as its message, or with `instead` of a key.
 */
export async function assertAllowedPage(
  context: Pick<Context, 'originsOf'>,
  page: BrowserPage,
  { caller, instead, refusal }: { caller: Caller | undefined; instead: string; refusal: string },
): Promise<void> {
  if (caller?.kind === 'api_key') {
    throw new GatehouseError(
      'forbidden',
      `An API key was sent by a web page. Keys stay on your server; give pages ${instead}, and replace this key.`,
    );
  }
  if (!(await isAllowedPage(context, page))) throw new GatehouseError('forbidden', refusal);
}

/**
 * Rejects requests whose Host is another machine's while we listen on loopback only; otherwise DNS rebinding reaches
 * us.
 * @throws GatehouseError `forbidden`
 */
export function assertHost(
  { config, publicUrl }: Pick<Base, 'config' | 'publicUrl'>,
  { headers }: IncomingMessage,
): void {
  if (!isLoopback(config.host)) return;
  const { host = '' } = headers;
  if (isLoopback(hostName(host)) || host === new URL(publicUrl).host) return;
  throw new GatehouseError('forbidden', 'The Host header names another machine than this one.');
}

/** Returns the name or address in a Host header, without the port. */
export function hostName(host: string): string {
  return host.startsWith('[') ? host.slice(0, host.indexOf(']') + 1) : (host.split(':')[0] ?? '');
}
