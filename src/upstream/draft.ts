import { invalidRequest } from '../lib/errors.ts';
import type { Body } from './body.ts';

// eslint-disable-next-line no-control-regex -- RFC 9110 section 5.5: visible characters, space and tab
const NOT_HEADER = /[^\t\u0020-\u007e\u0080-\u00ff]/;

/** What authentication adds to, before the request is written out. */
export interface Draft {
  method: string;
  address: Address;
  headers: Record<string, string>;
  body: Body | undefined;
}

/** Where a request goes; a URL object costs as much as all that is done with it here. */
export interface Address {
  origin: string;
  host: string;
  path: string;
  /** Percent-encoded, without the question mark. */
  query: string;
}

export function hrefOf({ origin, path, query }: Address): string {
  return query === '' ? origin + path : `${origin}${path}?${query}`;
}

/** Sets a parameter of the query, in place of others of its name. */
export function setQuery(address: Address, name: string, text: string): void {
  const query = new URLSearchParams(address.query);
  query.set(name, text);
  address.query = query.toString();
}

/** @throws GatehouseError `invalid_request` for line breaks and anything else that is no header value. */
export function headerValue(name: string, text: string): string {
  if (!NOT_HEADER.test(text)) return text;
  throw invalidRequest(
    [{ field: name, rule: 'must not hold line breaks or characters that no header can carry' }],
    'The input',
  );
}
