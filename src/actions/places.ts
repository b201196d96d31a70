import { isJsonObject, valueAt, type Json } from '../lib/json.ts';

/** The result of one upstream call of a list. */
export interface UpstreamPage {
  /** The records as the caller gets them. */
  records: Json[];
  /** The last record as the third party wrote it. */
  lastRaw: Json | undefined;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: Json;
}

/** Returns the value at an answerPlace of the connector format: `body:<path>`, `header:<name>`, `last:<path>`. */
export function valueAtPlace(place: string, page: UpstreamPage): Json | undefined {
  const colon = place.indexOf(':');
  const where = place.slice(colon + 1);
  switch (place.slice(0, colon)) {
    case 'header':
      return page.headers[where.toLowerCase()];
    case 'last':
      return page.lastRaw === undefined ? undefined : valueAt(page.lastRaw, where);
    default:
      return valueAt(page.body, where);
  }
}

/**
 * Returns whether the value means yes: `true`, `1`, `"true"`, a non-empty text or list; not `"false"`, `"0"`, `0`,
 * null.
 */
export function isTruthy(value: Json | undefined): boolean {
  if (typeof value === 'string') return !/^(|false|0|no|null)$/i.test(value.trim());
  if (Array.isArray(value)) return value.length > 0;
  return isJsonObject(value) || Boolean(value);
}

/** Returns a whole number from 0: a number, digits, or the size in a Content-Range; undefined for anything else. */
export function countAt(place: string | undefined, page: UpstreamPage): number | undefined {
  if (place === undefined) return undefined;
  const value = valueAtPlace(place, page);
  if (typeof value === 'number') return Number.isInteger(value) && value >= 0 ? value : undefined;
  const text = typeof value === 'string' ? value.trim() : '';
  // RFC 9110 section 14.4: the number of all records follows the slash.
  const digits = /^(?:[\w-]+\s+)?(?:\d+-\d+|\*)\/(\d{1,15})$/.exec(text)?.[1] ?? text;
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
}

/** Returns the address with rel=next of a Link header (RFC 8288 section 3), or undefined. */
export function nextLink(header: string): string | undefined {
  let at = 0;
  for (;;) {
    const open = header.indexOf('<', at);
    const close = header.indexOf('>', open);
    if (open === -1 || close === -1) return undefined;
    const end = endOfParameters(header, close + 1);
    const parameters = header.slice(close + 1, end);
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters);
    if ((rel?.[1] ?? rel?.[2] ?? '').toLowerCase().split(/\s+/).includes('next'))
      return header.slice(open + 1, close);
    at = end;
  }
}

/** Returns where the next link begins: the first comma outside quotes. */
function endOfParameters(header: string, from: number): number {
  let quoted = false;
  for (let at = from; at < header.length; at++) {
    const c = header.charAt(at);
    if (c === '"') quoted = !quoted;
    else if (c === ',' && !quoted) return at;
  }
  return header.length;
}
