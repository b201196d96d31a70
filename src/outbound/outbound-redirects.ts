import { GatehouseError } from '../lib/errors.ts';
import type { Asked } from './outbound-dispatch.ts';
import type { End } from './outbound-exchange.ts';
import type { Route, Routes } from './outbound-routes.ts';
import type { RequestTarget } from './target.ts';

const MAX_REDIRECTS = 3;

/**
 * Headers that another origin gets after a redirect. A credential may be in a header of any name, so no other is sent.
 */
const HARMLESS_HEADERS = new Set(['accept', 'accept-language', 'user-agent', 'content-type']);

/** The part of an answer that a redirect is read from. */
interface Hop {
  statusCode: number;
  headers: Record<string, string | string[] | undefined>;
}

/** The callbacks of following redirects. */
interface Following<A> {
  routes: Routes;
  end: End;
  request: Asked & { allowSandbox?: boolean };
  ask(route: Route, asked: Asked): Promise<A>;
  discard(answer: A): Promise<void>;
  /** Called with the host of each redirect before it is called. */
  moved(host: string): void;
}

/** Returns the answer after the redirects of a first answer, which came from `from`. Each hop passes the guard. */
export async function followRedirects<A extends Hop>(
  first: A,
  from: RequestTarget,
  { routes, end, request, ask, discard, moved }: Following<A>,
): Promise<A> {
  let answer = first;
  let target = from;
  let { method, headers = {}, body } = request;
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
    if (method !== 'HEAD' && (answer.statusCode === 303 || (method === 'POST' && answer.statusCode < 303))) {
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
    const route = await end.during(routes.to(next.href, request.allowSandbox));
    target = route.target;
    answer = await ask(route, { method, headers, body });
  }
  return answer;
}

/** Returns whether `status` is a redirect. */
export function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/** Returns the headers of a request that continues without its body. */
function withoutContentType(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-type'),
  );
}

/**
 * Returns the target of a redirect.
 * @throws GatehouseError upstream_failed
 */
function redirectTarget(from: URL, location: string): URL {
  const next = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (!next || !/^https?:$/.test(next.protocol) || next.username || next.password) {
    throw new GatehouseError(
      'upstream_failed',
      `${from.host} redirected to something that is no http(s) address.`,
    );
  }
  if (from.protocol === 'https:' && next.protocol === 'http:') {
    throw new GatehouseError(
      'upstream_failed',
      `${from.host} redirected from https to http; it was not followed.`,
    );
  }
  return next;
}

/** Returns the headers of a request that continues to another origin. */
function harmless(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => HARMLESS_HEADERS.has(name.toLowerCase())),
  );
}
