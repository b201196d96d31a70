import { invalidRequest, type GatehouseError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';

// eslint-disable-next-line no-control-regex -- RFC 9110 section 5.5: visible characters, space and tab
const NOT_HEADER = /[^\t\u0020-\u007e\u0080-\u00ff]/;

/** The request that authentication adds to, before it is written. */
export interface Draft {
  method: string;
  address: Address;
  headers: Record<string, string>;
  body: Body | undefined;
}

/** The address of a request. A URL object would cost as much as all other work on it here. */
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

/** Sets a parameter of the query, and replaces others of its name. */
export function setQuery(address: Address, name: string, text: string): void {
  const query = new URLSearchParams(address.query);
  query.set(name, text);
  address.query = query.toString();
}

/**
 * Returns a header value.
 * @throws GatehouseError `invalid_request` for line breaks and other characters that no header can carry.
 */
export function headerValue(name: string, text: string): string {
  if (!NOT_HEADER.test(text)) return text;
  throw inputFault(name, 'must not hold line breaks or characters that no header can carry');
}

/** Returns the refusal of a value that no request can carry. */
export function inputFault(field: string, rule: string): GatehouseError {
  return invalidRequest([{ field, rule }], 'The input');
}

/** A body that authentication may still add members to; `content` writes it. */
export interface Body {
  contentType: string;
  /** Members that authentication may add to; absent for text and lists. */
  members?: JsonObject;
  content(): string | Uint8Array;
  /** Files stand in it as they are. In other bodies they stand in base64, because those are texts. */
  holdsBytes?: true;
  /** Returns the name and text pairs, which OAuth 1.0a signs; only a form body has them. */
  formPairs?(): [string, string][];
}
