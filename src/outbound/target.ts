import { GatehouseError } from '../lib/errors.ts';

/** An http(s) address, split into the parts of a request. */
export interface RequestTarget {
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

/**
 * Splits an address.
 * @throws GatehouseError `invalid_request` for other schemes, user names and invalid addresses.
 */
export function readTarget(text: string): RequestTarget {
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.username || url.password) {
    throw new GatehouseError(
      'invalid_request',
      'The address to call is not an http(s) address without user name.',
    );
  }
  const { origin, protocol, hostname, host, port, pathname, search } = url;
  const standardPort = protocol === 'https:' ? 443 : 80;
  return { origin, protocol, hostname, host, port: Number(port) || standardPort, path: pathname + search };
}
