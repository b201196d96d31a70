import { readFileSync } from 'node:fs';
import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { buildConnector, Dispatcher } from 'undici';
import { createAddressGuard, type AllowedAddress } from './addresses.ts';
import { GatehouseError } from './errors.ts';
import type { BodyPlace } from './large-bodies.ts';
import { decoderOf, unpacked } from './outbound-body.ts';
import { toDispatch, type Asked } from './outbound-dispatch.ts';
import { BlockedAddress, outboundError } from './outbound-errors.ts';
import { End, wholeAnswer, type RawAnswer } from './outbound-exchange.ts';
import type { Lookup } from './outbound-names.ts';
import { harmless, isRedirect, redirectTarget, withoutContentType } from './outbound-redirects.ts';
import { SANDBOX_HOST } from './sandbox.ts';
import type { StopSignal } from './stop.ts';
import { readTarget, type Target } from './target.ts';

export interface OutboundRequest {
  method: string;
  url: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  signal?: StopSignal;
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
  /** For the built-in sandbox connector alone: SANDBOX_HOST of lib/sandbox.ts is our own /sandbox/. */
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

/** The part of an answer that a redirect is read from. */
interface Hop {
  statusCode: number;
  headers: Record<string, string | string[] | undefined>;
}

/** The callbacks of following redirects. */
interface Following<A> {
  end: End;
  ask(way: Way, asked: Asked): Promise<A>;
  discard(answer: A): Promise<void>;
  /** Called with the host of each redirect before it is called. */
  moved(host: string): void;
}

/** A target and the agent that calls it. */
interface Way {
  agent: Dispatcher;
  target: Target;
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
const CONNECT_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 30_000;
export const MAX_ANSWER_BYTES = 10 * 1024 * 1024;
const MAX_REDIRECTS = 3;
const MAX_JUDGED = 1000;
const CONNECTIONS_PER_ORIGIN = 64;
/**
 * A deadline ends a stream of HTTP/2, not its connection. A connection that died silently would be used again and
 * again; HTTP/1.1 loses one request to it.
 */
const ALLOW_H2 = false;
export function createOutbound(options: OutboundOptions): Outbound {
  const guard = createAddressGuard(options.allowedNetworks, options.allowPrivateNetwork);
  const ca = options.caFile ? [...rootCertificates, readFileSync(options.caFile, 'utf8')] : undefined;
  const lookup: Lookup = options.lookup ?? dnsLookup;
  let secureContext: SecureContext | undefined;
  /** One context for all connections, because making it reads every root certificate. */
  const tls = () => ({ secureContext: (secureContext ??= createSecureContext(ca ? { ca } : {})) });
  const agents = new Map<'guarded' | 'sandbox', Dispatcher>();
  /** Origins that passed the guard, whose verdict never changes. */
  const judged = new Set<string>();
  let sandboxOrigin: (() => Promise<string>) | undefined;

  const agentOf = async (kind: 'guarded' | 'sandbox'): Promise<Dispatcher> => {
    const undici = await import('undici');
    const known = agents.get(kind);
    if (known) return known;
    const common = {
      headersTimeout: HEADERS_TIMEOUT_MS,
      bodyTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: 10_000,
      connections: options.connections ?? CONNECTIONS_PER_ORIGIN,
      allowH2: ALLOW_H2,
    };
    const agent =
      kind === 'guarded' && options.egressProxy
        ? new undici.ProxyAgent({
            ...common,
            uri: options.egressProxy,
            proxyTls: { allowH2: ALLOW_H2 },
            requestTls: { ...tls(), allowH2: ALLOW_H2 },
          })
        : new undici.Agent({
            ...common,
            connect:
              kind === 'guarded' ? guardedConnect(undici.buildConnector) : { timeout: CONNECT_TIMEOUT_MS },
          });
    agents.set(kind, agent);
    return agent;
  };

  /**
   * Connects and checks the address of the peer, because a name may resolve to another address between check and use.
   */
  function guardedConnect(build: typeof buildConnector): buildConnector.connector {
    const connectTo = (port: number) =>
      build({
        timeout: CONNECT_TIMEOUT_MS,
        allowH2: ALLOW_H2,
        ...tls(),
        lookup: (hostname, lookupOptions, callback) => {
          lookup(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
            if (error) return callback(error, [], 4);
            const bad = addresses.some(({ address }) => !guard.allowsPeer(address, hostname, port));
            if (bad || addresses.length === 0) return callback(new BlockedAddress(), [], 4);
            if (lookupOptions.all) return callback(null, addresses, 4);
            return callback(null, addresses[0]?.address ?? '', addresses[0]?.family ?? 4);
          });
        },
      });
    // One connector for each port, because a look-up does not know its port. Each has its own TLS sessions.
    const connectors = new Map<number, buildConnector.connector>();
    return (target, callback) => {
      const port = portOf(target);
      const connect = connectors.get(port) ?? connectTo(port);
      if (connectors.size < 1000) connectors.set(port, connect);
      connect(target, (...result) => {
        const socket = result[1];
        if (socket && !guard.allowsPeer(socket.remoteAddress ?? '', target.hostname, port)) {
          socket.destroy();
          callback(new BlockedAddress(), null);
          return;
        }
        callback(...result);
      });
    };
  }

  /**
   * Returns the agent and target of an address. Every request passes here.
   * @throws BlockedAddress, GatehouseError
   */
  function wayOf(url: string, allowSandbox = false): Way | Promise<Way> {
    const target = readTarget(url);
    if (
      allowSandbox &&
      target.hostname === SANDBOX_HOST &&
      target.path.startsWith('/sandbox/') &&
      sandboxOrigin
    )
      return wayToSandbox(target.path, sandboxOrigin);
    assertGuarded(target);
    const agent = agents.get('guarded');
    return agent && !options.egressProxy ? { agent, target } : wayAnew(target);
  }

  async function wayToSandbox(path: string, origin: () => Promise<string>): Promise<Way> {
    const target = readTarget((await origin()) + path);
    return { agent: agents.get('sandbox') ?? (await agentOf('sandbox')), target };
  }

  async function wayAnew(target: Target): Promise<Way> {
    if (options.egressProxy) await checkNames(target);
    return { agent: await agentOf('guarded'), target };
  }

  /** Returns the answer after the redirects of a first answer, which came from `target`. Each hop passes the guard. */
  async function follow<A extends Hop>(
    first: A,
    from: Target,
    { method: firstMethod, headers: firstHeaders = {}, body: firstBody, allowSandbox }: OutboundRequest,
    { end, ask, discard, moved }: Following<A>,
  ): Promise<A> {
    let answer = first;
    let target = from;
    let method = firstMethod;
    let headers = firstHeaders;
    let body = firstBody;
    for (let hop = 0; isRedirect(answer.statusCode); hop++) {
      const location = answer.headers['location'];
      if (typeof location !== 'string') break;
      await discard(answer);
      if (hop === MAX_REDIRECTS) {
        throw new GatehouseError(
          'upstream_failed',
          `${target.host} redirected more than ${MAX_REDIRECTS} times.`,
        );
      }
      const next = redirectTarget(new URL(target.origin + target.path), location);
      // The fetch standard: 303 always continues with GET, and so does a POST after 301 and 302. Other requests are
      // repeated.
      if (
        method !== 'HEAD' &&
        (answer.statusCode === 303 || (method === 'POST' && answer.statusCode < 303))
      ) {
        method = 'GET';
        body = undefined;
        headers = withoutContentType(headers);
      }
      if (next.origin !== target.origin) {
        if (method !== 'GET' && method !== 'HEAD') {
          throw new GatehouseError(
            'upstream_failed',
            `${target.host} redirected a ${method} to another origin.`,
          );
        }
        headers = harmless(headers);
      }
      moved(next.host);
      const way = await end.during(wayOf(next.href, allowSandbox));
      target = way.target;
      answer = await ask(way, { method, headers, body });
    }
    return answer;
  }

  function assertGuarded({ origin, hostname, port, protocol, host }: Target): void {
    if (judged.has(origin)) return;
    if (!guard.allowsHost(hostname, port)) throw new BlockedAddress();
    if (protocol === 'http:' && !guard.allowsPlain(hostname, port)) {
      throw new GatehouseError('upstream_failed', `${host} was not called: only https addresses are.`, {
        details: { reason: 'blocked_address' },
      });
    }
    if (judged.size >= MAX_JUDGED) judged.clear();
    judged.add(origin);
  }

  /**
   * Returns the addresses of a name, checked by the guard. Behind an egress proxy, the proxy resolves names and
   * connects. Addresses that this machine can resolve are checked too; other names are left to the proxy's own rules.
   */
  async function checkNames(target: Target): Promise<LookupAddress[]> {
    const addresses = await new Promise<LookupAddress[]>((resolve) => {
      lookup(bareHost(target.hostname), { all: true }, (error, found) => resolve(error ? [] : found));
    });
    if (addresses.some(({ address }) => !guard.allowsPeer(address, target.hostname, target.port)))
      throw new BlockedAddress();
    return addresses;
  }

  return {
    async request(request) {
      const { timeoutMs = DEFAULT_TIMEOUT_MS, maxBytes = MAX_ANSWER_BYTES } = request;
      const end = new End(request.signal);
      // A caller that sets a deadline knows how slow this third party is; `end` enforces it.
      const patienceMs = request.timeoutMs === undefined ? HEADERS_TIMEOUT_MS : 0;
      let redirected: string | undefined;
      const moved = (host: string): void => void (redirected = host);
      try {
        const ask = ({ agent, target }: Way, asked: Asked): Promise<RawAnswer> =>
          wholeAnswer(agent, toDispatch(target, asked, patienceMs), {
            end,
            limits: { ...request, maxBytes },
          });
        let way = wayOf(request.url, request.allowSandbox);
        if (way instanceof Promise) {
          end.within(timeoutMs);
          way = await end.during(way);
        }
        const answering = ask(way, request);
        end.within(timeoutMs);
        let answer = await answering;
        if (request.followRedirects && isRedirect(answer.statusCode))
          answer = await follow(answer, way.target, request, {
            end,
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
    },
    async stream(request) {
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
        const patienceMs = request.timeoutMs ?? HEADERS_TIMEOUT_MS;
        const ask = ({ agent, target }: Way, asked: Asked): Promise<Dispatcher.ResponseData> =>
          agent.request({ ...toDispatch(target, asked, patienceMs), signal: ended });
        const way = await end.during(wayOf(request.url, request.allowSandbox));
        let answer = await ask(way, request);
        if (request.followRedirects)
          answer = await follow(answer, way.target, request, {
            end,
            ask,
            discard: ({ body }) => body.dump(),
            moved,
          });
        const { statusCode, headers, body } = answer;
        const most = request.maxBytes ?? MAX_ANSWER_BYTES;
        return {
          status: statusCode,
          headers: flat(headers),
          body: decoderOf(body, encodingOf(request, statusCode, headers), { maxBytes: most, translate }),
        };
      } catch (error) {
        throw translate(error);
      } finally {
        end.release();
      }
    },
    async examine(url) {
      const target = readTarget(url);
      try {
        assertGuarded(target);
        const found = await checkNames(target);
        if (found.length > 0 || options.egressProxy) return;
      } catch (error) {
        throw outboundError(error, { host: target.host, ended: NEVER, timeoutMs: 0 });
      }
      throw new GatehouseError('upstream_failed', `${target.host} could not be found (DNS).`, {
        details: { host: target.host, reason: 'dns' },
      });
    },
    allowSandbox(origin) {
      sandboxOrigin = origin;
    },
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    },
  };
}

const NEVER = { aborted: false, reason: undefined };

function portOf(target: { port: string; protocol: string }): number {
  return Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
}

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

function bareHost(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

function flat(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) out[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return out;
}
