import type { Fault } from '../lib/errors.ts';
import { asObject, type JsonObject } from '../lib/json.ts';
import { RAW_HEADERS } from './raw-action.ts';

/* The rules of a raw call that its schema cannot express. A call checks them, and a workflow when it is saved. */

/** Number of times that a path is decoded to find dots and slashes, because apps and proxies decode once or twice. */
const MAX_DECODINGS = 4;
/** Names of parameters and headers with which some frameworks replace the method of the request. */
const METHOD_OVERRIDES = new Set(['_method', 'x-http-method-override', 'x-method-override']);
const HEADERS: readonly string[] = RAW_HEADERS;

/** Returns the faults of the given members. In query, headers and body, it checks only the names. */
export function rawFaults({ method, path, query, headers, body }: JsonObject): Fault[] {
  const rule = typeof path === 'string' ? pathRule(path) : undefined;
  return [
    ...(rule === undefined ? [] : [{ field: 'path', rule }]),
    ...overridesIn('query', Object.keys(asObject(query))),
    ...Object.keys(asObject(headers))
      .filter((name) => !HEADERS.includes(name.toLowerCase()))
      .map((name) => ({ field: `headers.${name}`, rule: `is none of ${HEADERS.join(', ')}` })),
    ...overridesIn('body', Object.keys(asObject(body))),
    ...(body !== undefined && body !== null && (method === 'GET' || method === 'HEAD')
      ? [{ field: 'body', rule: `is not sent with ${method}` }]
      : []),
  ];
}

function overridesIn(member: string, names: readonly string[]): Fault[] {
  return names
    .filter((name) => METHOD_OVERRIDES.has(name.toLowerCase()))
    .map((name) => ({ field: `${member}.${name}`, rule: 'would change the method' }));
}

/** Returns the rule that a path breaks. Encoded forms count, because a server may decode them before it routes. */
function pathRule(path: string): string | undefined {
  if (!path.startsWith('/')) return 'must begin with /';
  if (/[?#]/.test(path)) return 'must not hold ? or #; use query for parameters';
  // eslint-disable-next-line no-control-regex -- this pattern finds control characters
  const forbidden = /[\\\u0000-\u001f\u007f]/;
  let text = path;
  for (let times = 0; times <= MAX_DECODINGS; times++) {
    if (forbidden.test(text)) return 'must not hold a backslash or control characters, also encoded';
    if (text.includes('//')) return 'must not hold empty segments';
    // Some servers ignore the text after a semicolon.
    if (text.split('/').some((segment) => /^\.{1,2}(;.*)?$/.test(segment)))
      return 'must not hold dot segments, also encoded';
    const decoded = decodedOnce(text);
    if (decoded === undefined) return 'must be percent-encoded UTF-8';
    if (decoded === text) return undefined;
    text = decoded;
  }
  return 'is encoded too often';
}

function decodedOnce(text: string): string | undefined {
  if (!/%[0-9a-f]{2}/i.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
  } catch {
    return undefined;
  }
}
