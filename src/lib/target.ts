import { GatehouseError } from './errors.ts';
import { memoByText } from './memo.ts';

/** An http(s) address, split into the parts of a request. */
export interface Target {
  /** As in URL: normalised, without a default port. */
  readonly origin: string;
  readonly protocol: 'http:' | 'https:';
  readonly hostname: string;
  /** With the port unless it is the default. */
  readonly host: string;
  readonly port: number;
  /** Path and query, percent-encoded. */
  readonly path: string;
}

type Origin = Omit<Target, 'path'>;

const MAX_KEPT = 1000;
/**
 * Addresses that the URL parser leaves unchanged (URL standard, path and special-query percent-encode sets). A query
 * needs no other check.
 */
const PLAIN =
  /^(https?:\/\/[a-z0-9.-]+(?::\d+)?)(\/[\w\-.~!$&'()*+,;=:@%/]*(?:\?[\w\-.~!$&()*+,;=:@%/?]+)?)?$/;
/** Dot segments in any spelling, which the URL parser drops. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:[/?]|$)/i;
const originIn = memoByText(MAX_KEPT, (head) => originOf(checkedUrl(head)));

/**
 * Splits an address. An address that the URL parser would leave unchanged, as nearly all are, is cut in two and its
 * origin is looked up. A URL object costs more than all other checks of a call.
 * @throws GatehouseError `invalid_request` for other schemes, user names and invalid addresses.
 */
export function readTarget(text: string): Target {
  const [, head, path = '/'] = PLAIN.exec(text) ?? [];
  if (head === undefined || DOT_SEGMENT.test(path)) {
    const url = checkedUrl(text);
    return { ...originOf(url), path: url.pathname + url.search };
  }
  const { origin, protocol, hostname, host, port } = originIn(head);
  return { origin, protocol, hostname, host, port, path };
}

/** Returns whether the URL parser would leave this path unchanged: nothing to encode, no dot segment. */
export function isPlainPath(path: string): boolean {
  return PLAIN_PATH.test(path) && !DOT_SEGMENT.test(path);
}
const PLAIN_PATH = /^\/[\w\-.~!$&'()*+,;=:@%/]*$/;

function originOf({ origin, protocol, hostname, host, port }: URL): Origin {
  const secure = protocol === 'https:';
  return {
    origin,
    protocol: secure ? 'https:' : 'http:',
    hostname,
    host,
    port: Number(port) || (secure ? 443 : 80),
  };
}

function checkedUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.username || url.password) {
    throw new GatehouseError(
      'invalid_request',
      'The address to call is not an http(s) address without user name.',
    );
  }
  return url;
}
