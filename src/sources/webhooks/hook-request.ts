import { parseJson, valueAt, type Json } from '../../lib/json.ts';

/** A webhook as it arrived. */
export interface HookRequest {
  method: string;
  /** Our whole address, with its query. */
  url: string;
  query: URLSearchParams;
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  raw: Buffer;
  /** The body as JSON or form members; null when it is neither. */
  body: Json;
}

/** Returns the value at `header:<name>`, `body:<path>` or `query:<parameter>` as text. */
export function textAt(
  request: Pick<HookRequest, 'header' | 'body' | 'query'>,
  place: string,
): string | undefined {
  const [where = '', ...rest] = place.split(':');
  const name = rest.join(':');
  const value =
    where === 'header'
      ? request.header(name.toLowerCase())
      : where === 'query'
        ? (request.query.get(name) ?? undefined)
        : valueAt(request.body, name);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Parses the body of a webhook: JSON, or the members of a form. */
export function bodyOf(raw: Buffer, contentType: string): Json {
  const text = raw.toString('utf8');
  if (/^application\/x-www-form-urlencoded/i.test(contentType))
    return Object.fromEntries(new URLSearchParams(text));
  try {
    return text.trim() === '' ? null : parseJson(text);
  } catch {
    return null;
  }
}
