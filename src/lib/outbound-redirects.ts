import { GatehouseError } from './errors.ts';

/**
 * Headers that another origin gets after a redirect. A credential may be in a header of any name, so no other is sent.
 */
const HARMLESS_HEADERS = new Set(['accept', 'accept-language', 'user-agent', 'content-type']);

/** Returns whether `status` is a redirect. */
export function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/** Returns the headers of a request that continues without its body. */
export function withoutContentType(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-type'),
  );
}

/**
 * Returns the target of a redirect.
 * @throws GatehouseError upstream_failed
 */
export function redirectTarget(from: URL, location: string): URL {
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
export function harmless(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => HARMLESS_HEADERS.has(name.toLowerCase())),
  );
}
