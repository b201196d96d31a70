import { lookup as dnsLookup } from 'node:dns';
import type { Dispatcher } from 'undici';
import { createAddressGuard, type AllowedAddress } from '../lib/addresses.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { BodyPlace } from './large-bodies.ts';
import { createAgents, HEADERS_TIMEOUT_MS } from './outbound-agents.ts';
import { decoderOf, unpacked } from './outbound-body.ts';
import { toDispatch, type Asked, type SentBody } from './outbound-dispatch.ts';
import { outboundError } from './outbound-errors.ts';
import { End, wholeAnswer, type RawAnswer } from './outbound-exchange.ts';
import type { Lookup } from './outbound-names.ts';
import { followRedirects, isRedirect } from './outbound-redirects.ts';
import { createRoutes, type Route, type Routes } from './outbound-routes.ts';
import { readTarget } from './target.ts';

export interface OutboundRequest {
  method: string;
  url: string;
  headers?: Record<string, string>;
  body?: SentBody;
  signal?: AbortSignal;
  /** Deadline of the whole exchange, redirects included; default 60 s. */
  timeoutMs?: number;
  /** Maximum size after decompression; default 10 MiB. */
  maxBytes?: number;
  /** Whether to follow redirects, at most three; the guard checks each hop. */
  followRedirects?: boolean;
  /**
   * Only the status counts. A body that is too large, breaks off or outlives the deadline is returned as far as it
   * arrived, and its connection is closed.
   */
  statusDecides?: boolean | undefined;
  /** The place that a large body waits for, unread, within the deadline. */
  place?: BodyPlace;
  /** For the built-in sandbox connector alone: SANDBOX_HOST of lib/sandbox-names.ts is our own /sandbox/. */
  allowSandbox?: boolean;
}

export interface OutboundAnswer {
  status: number;
  /** Lower-case names; repeated ones joined by a comma. */
  headers: Record<string, string>;
  body: Buffer;
}

/** An answer whose body is read as it arrives. */
export interface OutboundStream {
  status: number;
  headers: Record<string, string>;
  /**
   * Decompressed chunks.
   * @throws GatehouseError upstream_timeout, upstream_failed, upstream_too_large
   */
  body: AsyncIterable<Buffer>;
}

export interface OutboundOptions {
  allowedNetworks: AllowedAddress[];
  /** Allows every private and loopback address, and http: to loopback. */
  allowPrivateNetwork: boolean;
  egressProxy?: string | undefined;
  caFile?: string | undefined;
  /** Sockets per origin; default 64. */
  connections?: number;
  /**
   * Resolves names; default dns.lookup(). A service passes shareLookups(), because all outbound calls share its
   * threads.
   */
  lookup?: Lookup;
}

/**
 * The only way to the network. Literals, DNS answers and the connected peer are checked against private, loopback,
 * link-local and metadata addresses. Every failure is a GatehouseError that carries no header and no body.
 */
export interface Outbound {
  /**
   * Calls an address and reads the whole answer.
   * @throws GatehouseError upstream_timeout, upstream_failed, upstream_too_large, invalid_request
   */
  request(request: OutboundRequest): Promise<OutboundAnswer>;
  /** Calls an address as request() does, with the body still to come. */
  stream(request: OutboundRequest & { signal?: AbortSignal }): Promise<OutboundStream>;
  /**
   * Checks an address as a request would, without calling it: the scheme, literals, and the addresses of its name now.
   * @throws GatehouseError invalid_request, upstream_failed with `details.reason` blocked_address or dns
   */
  examine(url: string): Promise<void>;
  /** Sets the origin of our own sandbox. The callback runs at each call, so the sandbox may start to listen then. */
  allowSandbox(origin: () => Promise<string>): void;
  close(): Promise<void>;
}

const DEFAULT_TIMEOUT_MS = 60_000;
export const MAX_ANSWER_BYTES = 10 * 1024 * 1024;

export function createOutbound(options: OutboundOptions): Outbound {
  const { egressProxy, caFile, connections } = options;
  const lookup: Lookup = options.lookup ?? dnsLookup;
  const guard = createAddressGuard(options.allowedNetworks, options.allowPrivateNetwork);
  const agents = createAgents({ guard, lookup, egressProxy, caFile, connections });
  const routes = createRoutes({ guard, agents, lookup, isProxied: egressProxy !== undefined });
  return {
    request: (request) => exchange(routes, request),
    stream: (request) => openStream(routes, request),
    async examine(url) {
      const target = readTarget(url);
      try {
        const isKnown = await routes.check(target);
        if (isKnown || egressProxy !== undefined) return;
      } catch (error) {
        throw outboundError(error, { host: target.host, ended: NEVER, timeoutMs: 0 });
      }
      throw new GatehouseError('upstream_failed', `${target.host} could not be found (DNS).`, {
        details: { host: target.host, reason: 'dns' },
      });
    },
    allowSandbox: (origin) => routes.allowSandbox(origin),
    close: () => agents.close(),
  };
}

async function exchange(routes: Routes, request: OutboundRequest): Promise<OutboundAnswer> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, maxBytes = MAX_ANSWER_BYTES } = request;
  const end = new End(request.signal);
  // A caller that sets a deadline knows how slow this third party is; `end` enforces it.
  const headersTimeoutMs = request.timeoutMs === undefined ? HEADERS_TIMEOUT_MS : 0;
  let redirected: string | undefined;
  const moved = (host: string): void => void (redirected = host);
  try {
    const ask = ({ agent, target }: Route, asked: Asked): Promise<RawAnswer> =>
      wholeAnswer(agent, toDispatch(target, asked, headersTimeoutMs), {
        end,
        limits: { ...request, maxBytes },
      });
    let route = routes.to(request.url, request.allowSandbox);
    if (route instanceof Promise) {
      end.within(timeoutMs);
      route = await end.during(route);
    }
    const answering = ask(route, request);
    end.within(timeoutMs);
    let answer = await answering;
    if (request.followRedirects && isRedirect(answer.statusCode))
      answer = await followRedirects(answer, route.target, {
        routes,
        end,
        request,
        ask,
        discard: async () => {},
        moved,
      });
    const { statusCode, headers, body } = answer;
    // A body that may be cut cannot be decompressed.
    const encoding = request.statusDecides ? undefined : encodingOf(request, statusCode, headers);
    return {
      status: statusCode,
      headers: flat(headers),
      body: encoding === undefined ? body : await unpacked(body, encoding, maxBytes),
    };
  } catch (error) {
    const { headers, url } = request;
    throw outboundError(error, { host: redirected ?? hostOf(url), ended: end, timeoutMs, headers });
  } finally {
    end.release();
  }
}

async function openStream(
  routes: Routes,
  request: OutboundRequest & { signal?: AbortSignal },
): Promise<OutboundStream> {
  const { headers } = request;
  const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  // Unlike in request(), the deadline and the caller's signal apply until the last chunk.
  const signals = [AbortSignal.timeout(timeoutMs), ...(request.signal ? [request.signal] : [])];
  const ended = AbortSignal.any(signals);
  const end = new End(ended);
  let redirected: string | undefined;
  const moved = (host: string): void => void (redirected = host);
  const translate = (error: unknown) =>
    outboundError(error, { host: redirected ?? hostOf(request.url), ended, timeoutMs, headers });
  try {
    const headersTimeoutMs = request.timeoutMs ?? HEADERS_TIMEOUT_MS;
    const ask = ({ agent, target }: Route, asked: Asked): Promise<Dispatcher.ResponseData> =>
      agent.request({ ...toDispatch(target, asked, headersTimeoutMs), signal: ended });
    const route = await end.during(routes.to(request.url, request.allowSandbox));
    let answer = await ask(route, request);
    if (request.followRedirects)
      answer = await followRedirects(answer, route.target, {
        routes,
        end,
        request,
        ask,
        discard: ({ body }) => body.dump(),
        moved,
      });
    const { statusCode, headers, body } = answer;
    const most = request.maxBytes ?? MAX_ANSWER_BYTES;
    return {
      status: statusCode,
      headers: flat(headers),
      body: decoderOf(body, encodingOf(request, statusCode, headers), {
        maxBytes: most,
        translate,
        place: request.place,
        ended,
      }),
    };
  } catch (error) {
    throw translate(error);
  } finally {
    end.release();
  }
}

const NEVER = { aborted: false, reason: undefined };

function hostOf(text: string): string {
  return URL.canParse(text) ? new URL(text).host : 'the address';
}

/**
 * Returns the encoding of a body. Answers without a body may still name an encoding (RFC 9110 section 8.4), and an
 * empty body is no valid gzip.
 */
function encodingOf(
  { method }: OutboundRequest,
  status: number,
  headers: Record<string, string | string[] | undefined>,
): string | string[] | undefined {
  const empty = method === 'HEAD' || status === 204 || status === 304 || headers['content-length'] === '0';
  return empty ? undefined : headers['content-encoding'];
}

function flat(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) out[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return out;
}
