import type { OAuth } from '../connectors/format/format.ts';
import { parseHttpDate, SECOND } from '../lib/clock.ts';
import { isJsonObject, parseJson, valueAt, type Json, type JsonObject } from '../lib/json.ts';

/** An answer of a token endpoint, as received. Header names are lower case. */
export interface WireAnswer {
  status: number;
  headers: Record<string, string>;
  text: string;
}

/** The same answer, normalized to RFC 6749 sections 5.1 and 5.2. */
export interface TokenAnswer {
  /** 200, or the 4xx of a refusal. */
  status: number;
  body: TokenBody | TokenRefusal;
  /** The app's own body; captured values are read there. */
  raw: Json;
}

export interface TokenBody {
  access_token: string;
  token_type: 'bearer';
  refresh_token?: string;
  /** Lifetime in seconds, from the sending of the request. */
  expires_in?: number;
  /** Separated by spaces. */
  scope?: string;
}

export interface TokenRefusal {
  error: string;
  error_description?: string;
}

/** A longer lifetime means that the token does not expire. */
const MAX_SECONDS = 10 * 365 * 24 * 3600;
const MAX_TOKEN_CHARS = 10_000;
const MAX_ERROR_CHARS = 100;
const MAX_DESCRIPTION_CHARS = 300;
const REFUSALS = new Set([400, 401, 403]);
/** Paths of the sentence that apps send with an error. */
const DESCRIPTIONS = [
  'error_description',
  'error.message',
  'message',
  'error_message',
  'description',
  'detail',
  'reason',
];

/**
 * Reads a token endpoint's answer: JSON or form-encoded, also an error inside a 2xx, member names by the scheme's
 * `tokenAnswer`. Returns undefined for no definite answer: an HTML page, an empty body, neither token nor error, a
 * 5xx status.
 */
export function readTokenAnswer(
  scheme: OAuth,
  { status, headers, text }: WireAnswer,
  now: number,
): TokenAnswer | undefined {
  const raw = parseBody(text);
  if (raw === undefined) return undefined;
  const { tokenAnswer } = scheme;
  const success = status >= 200 && status < 300;
  if (!success && !REFUSALS.has(status)) return undefined;

  const said = valueAt(raw, tokenAnswer.error);
  if (!success || isTruthy(said))
    return { status: success ? 400 : status, body: refusal(scheme, raw, { said, status }), raw };

  const accessToken = textOf(valueAt(raw, tokenAnswer.accessToken));
  if (accessToken === undefined || accessToken.length > MAX_TOKEN_CHARS) return undefined;
  const refreshToken = textOf(valueAt(raw, tokenAnswer.refreshToken));
  if (refreshToken !== undefined && refreshToken.length > MAX_TOKEN_CHARS) return undefined;
  const expiresIn = secondsOf(scheme, raw, { headers, now });
  const scope = scopeOf(scheme, valueAt(raw, tokenAnswer.scope));
  return {
    status: 200,
    body: {
      access_token: accessToken,
      // Apps write Bearer, bot, user or nothing here; the scheme's `apply` decides how the token is sent.
      token_type: 'bearer',
      ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
      ...(expiresIn === undefined ? {} : { expires_in: expiresIn }),
      ...(scope === undefined ? {} : { scope }),
    },
    raw,
  };
}

/** Parses JSON, else a form; undefined for anything else. */
function parseBody(text: string): JsonObject | undefined {
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  if (trimmed.startsWith('{')) {
    try {
      const value = parseJson(trimmed);
      return isJsonObject(value) ? value : undefined;
    } catch {
      return undefined;
    }
  }
  // The content type is ignored, because some apps send a form as text/plain or text/html.
  if (!/^[\w.[\]%~-]+=[^\s<>"{}]*$/.test(trimmed)) return undefined;
  return Object.fromEntries([...new URLSearchParams(trimmed)].filter(([name]) => name !== '__proto__'));
}

function refusal(
  scheme: OAuth,
  raw: JsonObject,
  { said, status }: { said: Json | undefined; status: number },
): TokenRefusal {
  const code = clean(codeOf(said), MAX_ERROR_CHARS) ?? `http_${status}`;
  const isGrant = scheme.tokenAnswer.invalidGrant.includes(code);
  const sentence = DESCRIPTIONS.map((path) => valueAt(raw, path)).find((found) => typeof found === 'string');
  const description = clean(textOf(sentence), MAX_DESCRIPTION_CHARS) ?? (isGrant ? code : undefined);
  return {
    error: isGrant ? 'invalid_grant' : code,
    ...(description === undefined ? {} : { error_description: description }),
  };
}

/** Returns the code of an error: the value itself, or the member of an error object that names it. */
function codeOf(said: Json | undefined): string | undefined {
  if (Array.isArray(said)) return codeOf(said[0]);
  if (!isJsonObject(said)) return said === true ? undefined : textOf(said);
  for (const name of ['code', 'type', 'error', 'status', 'reason']) {
    const code = textOf(said[name]);
    if (code !== undefined) return code;
  }
  return undefined;
}

function isTruthy(said: Json | undefined): boolean {
  if (Array.isArray(said)) return said.length > 0;
  return Boolean(said) && said !== '0' && said !== 'false';
}

/**
 * Returns the lifetime of the access token in seconds; undefined when the answer and the scheme have no usable one.
 */
function secondsOf(
  { tokenAnswer, accessTokenSeconds }: OAuth,
  raw: JsonObject,
  { headers, now }: { headers: Record<string, string>; now: number },
): number | undefined {
  const lifetime = lifetimeAt(raw, tokenAnswer.expiresIn, tokenAnswer.unit);
  if (lifetime !== undefined && lifetime > 0) return lifetime > MAX_SECONDS ? undefined : lifetime;
  const moment = momentOf(valueAt(raw, tokenAnswer.expiresAt));
  if (moment === undefined) return accessTokenSeconds;
  // The time is read by the app's clock, which its Date header shows.
  const date = parseHttpDate(headers['date'] ?? '');
  const seconds = (moment - (Number.isNaN(date) ? now : date)) / SECOND;
  if (seconds > MAX_SECONDS) return undefined;
  return seconds > 0 ? seconds : accessTokenSeconds;
}

/** Returns the lifetime of the refresh token in seconds; undefined when the answer has none. */
export function refreshSecondsOf({ tokenAnswer }: OAuth, raw: Json): number | undefined {
  const lifetime = lifetimeAt(raw, tokenAnswer.refreshExpiresIn, tokenAnswer.unit);
  return lifetime !== undefined && lifetime > 0 && lifetime <= MAX_SECONDS ? lifetime : undefined;
}

/** Returns a lifetime in seconds. */
function lifetimeAt(raw: Json, path: string, unit: 'seconds' | 'milliseconds'): number | undefined {
  const number = numberOf(valueAt(raw, path));
  return number === undefined || unit === 'seconds' ? number : number / SECOND;
}

/** Parses epoch seconds, epoch milliseconds or ISO 8601 into epoch milliseconds. */
export function momentOf(value: Json | undefined): number | undefined {
  const number = numberOf(value);
  if (number !== undefined) return number > 1e11 ? number : number > 0 ? number * SECOND : undefined;
  if (typeof value !== 'string') return undefined;
  const moment = Date.parse(value);
  return Number.isNaN(moment) ? undefined : moment;
}

function numberOf(value: Json | undefined): number | undefined {
  const number = typeof value === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

function scopeOf({ scopeSeparator }: OAuth, value: Json | undefined): string | undefined {
  const texts = Array.isArray(value) ? value : [value];
  const scopes = texts
    .flatMap((text) => (typeof text === 'string' ? text.split(scopeSeparator) : []))
    .flatMap((text) => text.split(/[\s,]+/))
    .filter((scope) => scope !== '');
  return scopes.length > 0 ? scopes.join(' ') : undefined;
}

function textOf(value: Json | undefined): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/** Returns one line of printable text. */
function clean(text: string | undefined, most: number): string | undefined {
  const line = text
    // oxlint-disable-next-line no-control-regex -- what it finds is the point
    ?.replaceAll(/[\u0000-\u001f\u007f-\u009f\s]+/g, ' ')
    .trim()
    .slice(0, most)
    .toWellFormed();
  return line === undefined || line === '' ? undefined : line;
}
