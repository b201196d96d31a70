import { invalidRequest } from '../lib/errors.ts';
import type { Body } from './body.ts';

// eslint-disable-next-line no-control-regex -- RFC 9110 section 5.5: visible characters, space and tab
const NOT_HEADER = /[^\t\u0020-\u007e\u0080-\u00ff]/;

/** What authentication adds to, before the request is written out. */
export interface Draft {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: Body | undefined;
}

/** @throws GatehouseError `invalid_request` for line breaks and anything else that is no header value. */
export function headerValue(name: string, text: string): string {
  if (!NOT_HEADER.test(text)) return text;
  throw invalidRequest(
    [{ field: name, rule: 'must not hold line breaks or characters that no header can carry' }],
    'The input',
  );
}
