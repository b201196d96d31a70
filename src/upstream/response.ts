import type { ErrorMeaning } from '../connectors/format/errors-format.ts';
import { parseHttpDate, SECOND } from '../lib/clock.ts';
import { GatehouseError, type ErrorCode } from '../lib/errors.ts';
import { isJsonObject, valueAt, type Json, type JsonObject } from '../lib/json.ts';
import { scrub } from '../lib/scrub.ts';
import { scrubJson } from '../lib/scrub-json.ts';
import type { Secret } from '../lib/secret.ts';
import type { UpstreamAnswer, UpstreamCall } from './upstream-call.ts';
import { readsXml } from './xml-answer.ts';
import { costIn, pointsIn, waitForPoints } from './budget.ts';
import { mapValue, mapValues } from './expression.ts';
import { failureOf, messagePaths } from './failure.ts';
import type { ActionDefinition } from '../connectors/format/format.ts';

const EXCERPT_CHARS = 500;

/**
 * Returns the value that the action promises, without the secrets of its request.
 * @throws GatehouseError `credential_invalid`, `upstream_rejected`, `upstream_rate_limited`, `upstream_failed`
 */
export async function interpretAnswer(call: UpstreamCall, answer: UpstreamAnswer): Promise<{ value: Json }> {
  const meaning = failureOf(call, answer);
  if (meaning) throw upstreamError(call, answer, meaning);
  const { response } = call.action.definition;
  const found = placeOf(call, answer);
  const value = found === undefined ? (call.action.list ? emptyList(call, answer) : null) : found;
  const mapped =
    response.map === undefined ? value : await mapAnswer(call, answer, { map: response.map, value });
  // The mapping runs first, because it may decode text that the app encoded.
  return { value: withHeaders(call, answer, scrubJson(mapped, answer.reflected)) };
}

/** Returns the value with the headers that the file names. They go to the caller, so secrets are removed. */
function withHeaders({ action }: UpstreamCall, { headers, secrets }: UpstreamAnswer, value: Json): Json {
  const named = Object.entries(action.definition.response.headers);
  if (named.length === 0 || action.list) return value;
  const open = secrets.map((secret) => secret.open());
  const members = named.flatMap(([member, name]) => {
    const text = headers[name.toLowerCase()];
    return text === undefined ? [] : [[member, scrub(text, open)]];
  });
  return { ...(isJsonObject(value) ? value : {}), ...Object.fromEntries(members) };
}

function mapAnswer(
  call: UpstreamCall,
  answer: UpstreamAnswer,
  { map, value }: { map: string; value: Json },
): Promise<Json> {
  const secrets = answer.secrets.map((secret) => secret.open());
  const options = { author: call.connector, secrets };
  return Array.isArray(value) && call.action.list
    ? mapValues(map, value, options)
    : mapValue(map, value, options);
}

/** Returns the value or records at the place that the file names; undefined when there are none, or no body. */
export function placeOf(
  { connector, action }: Pick<UpstreamCall, 'connector' | 'action'>,
  { body }: Pick<UpstreamAnswer, 'body'>,
): Json | undefined {
  const { response } = action.definition;
  const found = response.data === '' && body === null ? undefined : valueAt(body, response.data);
  // XML has no lists of one: there is one element.
  if (action.list && found !== undefined && !Array.isArray(found) && readsXml({ connector, action }))
    return found === '' || found === null ? [] : [found];
  const isShaped = response.keyedBy !== undefined || response.columns !== undefined;
  return isShaped && found !== undefined ? recordsIn(response, found, body) : found;
}

/**
 * Returns an empty list where the list is missing and the file says that this means empty. A missing list may also
 * mean that the app is down.
 * @throws GatehouseError `upstream_failed`
 */
function emptyList({ connector, action }: UpstreamCall, { status, body }: UpstreamAnswer): Json[] {
  if (status === 204) return [];
  const { data, whenEmpty } = action.definition.response;
  if (readsXml({ connector, action }) && isEmptyInXml(body, data)) return [];
  if (whenEmpty && isJsonObject(body) && Object.keys(body).every((name) => whenEmpty.includes(name)))
    return [];
  const place = data === '' ? 'its body' : `"${data}"`;
  throw new GatehouseError(
    'upstream_failed',
    `${connector.name} answered without a list of records: there is nothing at ${place}.`,
    { details: { status, connectorId: connector.connectorId, reason: 'no_list' } },
  );
}

/** Returns whether XML has an empty list at a path: its parent without children, or without these children. */
function isEmptyInXml(body: Json, path: string): boolean {
  const names = path.split('.');
  const parents = names.slice(1).map((_, index) => valueAt(body, names.slice(0, index + 1).join('.')));
  return parents.at(-1) !== undefined || parents.some((parent) => parent === '' || parent === null);
}

/**
 * Returns whether a successful answer says that the record does not exist: null in its place, or a list that ends
 * before it. An answer without the place says nothing about the record.
 */
export function reportsNone({ action }: UpstreamCall, { body }: UpstreamAnswer): boolean {
  const { data } = action.definition.response;
  if (data === '') return false;
  return valueAt(body, data) === null || endsBefore(body, data);
}

function endsBefore(body: Json, path: string): boolean {
  const end = path.lastIndexOf('.');
  const list = valueAt(body, path.slice(0, Math.max(0, end)));
  return Array.isArray(list) && Number(path.slice(end + 1)) >= list.length;
}

function upstreamError(call: UpstreamCall, answer: UpstreamAnswer, meaning: ErrorMeaning): GatehouseError {
  const { name } = call.connector;
  const { status } = answer;
  const { needed, scopes } = neededRight(call, answer, meaning);
  const sentence = sentenceOf(call, answer);
  // The right is also the app's text, so it is part of the quoted sentence.
  const appText = needed === undefined ? sentence : `${sentence} (needed: ${needed})`.trim();
  const reported = appText === '' ? `HTTP ${status}` : `HTTP ${status}: ${appText}`;
  const details = {
    status,
    connectorId: call.connector.connectorId,
    ...(appText === '' ? {} : { message: appText }),
    ...(needed === undefined ? {} : { needed }),
    ...(scopes === undefined ? {} : { scopes }),
  };
  const failed = (code: ErrorCode, sentence: string, more: Record<string, unknown> = {}) =>
    new GatehouseError(code, `${name} ${sentence}`, { details: { ...details, ...more } });
  switch (meaning) {
    case 'credential_invalid':
      return failed(meaning, `refused the credential (${reported}).`, {
        reason: 'refused',
        ...(call.credential ? { credentialId: call.credential.credentialId } : {}),
      });
    case 'upstream_rate_limited': {
      const seconds = Math.ceil((retryAfterMs(call, answer, Date.now()) ?? 30 * SECOND) / SECOND);
      const sentence = `${name} limits its calls (${reported}). Try again in ${seconds} s.`;
      return new GatehouseError(meaning, sentence, { details, retryAfterSeconds: seconds });
    }
    case 'upstream_rejected':
      return failed(meaning, `refused the call (${reported}).`);
    case 'permission': {
      const sentence = `does not let this account do that (${reported}). Ask for the right there, or use another account.`;
      return failed('upstream_rejected', sentence, { reason: meaning });
    }
    case 'transient':
      return failed('upstream_failed', `failed for the moment (${reported}). Try again.`, {
        reason: meaning,
      });
    case 'upstream_failed':
      return failed(meaning, `failed (${reported}).`);
  }
}

/** A right that an app names as missing. */
interface NeededRight {
  /** In the app's words. */
  needed?: string;
  /** As scopes, where the app names them in a challenge. */
  scopes?: string[];
}

/** Returns the right that the app names as missing; empty for other refusals. */
function neededRight(call: UpstreamCall, answer: UpstreamAnswer, meaning: ErrorMeaning): NeededRight {
  if (meaning !== 'permission' && answer.status !== 401 && answer.status !== 403) return {};
  for (const place of call.connector.definition.errors.needed) {
    const where = place.slice(place.indexOf(':') + 1);
    const found = place.startsWith('header:')
      ? answer.headers[where.toLowerCase()]
      : valueAt(answer.body, where);
    const words = Array.isArray(found) ? found.join(', ') : found;
    if (typeof words === 'string' && words !== '') return { needed: excerpt(words, answer.secrets) };
  }
  const challenged = neededScopes(answer.headers['www-authenticate'] ?? '');
  if (challenged === undefined) return {};
  const needed = excerpt(challenged, answer.secrets);
  // Scopes are printable ASCII without quotes and backslashes (RFC 6749 section 3.3).
  const scopes = needed.split(' ').filter((one) => /^[!#-[\]-~]+$/.test(one));
  return { needed, scopes };
}

/** Returns the scopes that a challenge names as missing (RFC 6750 section 3.1). */
function neededScopes(challenge: string): string | undefined {
  if (!/\berror="?insufficient_scope\b/i.test(challenge)) return undefined;
  return /\bscope="([^"]+)"/i.exec(challenge)?.[1];
}

/** Returns the app's own sentence, without secrets, as one line of at most 500 characters. */
function sentenceOf(call: UpstreamCall, { body, secrets }: UpstreamAnswer): string {
  for (const path of messagePaths(call)) {
    const found = valueAt(body, path);
    if (found === undefined || found === null || found === '' || isEmpty(found)) continue;
    return excerpt(sentence(found), secrets);
  }
  if (body === null || body === '') return '';
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  // A page for browsers does not help a caller.
  return /^\s*<(!doctype|html)/i.test(text) ? '' : excerpt(text, secrets);
}

/** Returns an app's message as text. A list of sentences becomes one line. */
function sentence(found: Json): string {
  if (typeof found === 'string') return found;
  const isSentences = Array.isArray(found) && found.every((one) => typeof one === 'string');
  return isSentences ? found.join('; ') : JSON.stringify(found);
}

/** Returns whether a value is an empty list or object. */
function isEmpty(value: Json): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function excerpt(text: string, secrets: readonly Secret[]): string {
  // The text is scrubbed as a whole and cut afterwards, because half a secret would not be found.
  const open = secrets.map((secret) => secret.open());
  const clean = scrub(text, open)
    .slice(0, 10 * EXCERPT_CHARS)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return clean.length > EXCERPT_CHARS ? `${clean.slice(0, EXCERPT_CHARS - 1).toWellFormed()}…` : clean;
}

/**
 * Returns the wait that the third party requires, in milliseconds: from seconds, an HTTP date, or an epoch in seconds
 * or ms.
 */
export function retryAfterMs(
  { connector }: Pick<UpstreamCall, 'connector'>,
  { headers, body }: Pick<UpstreamAnswer, 'headers'> & { body?: Json | undefined },
  now: number,
): number | undefined {
  const { retryAfterHeader, retryAfterUnit } = connector.definition;
  const own = retryAfterHeader && headers[retryAfterHeader.toLowerCase()];
  const text = headers['retry-after'] ?? own;
  if (text === undefined || text === '') return budgetWaitMs(connector, { headers, body }, now);
  const number = Number(text);
  if (Number.isFinite(number)) {
    // No third party requires a wait of ten years, so such a number is a point in time.
    if (number > 1e11) return Math.max(0, number - now);
    if (number > 1e9) return Math.max(0, number * SECOND - now);
    const unit = headers['retry-after'] === undefined && retryAfterUnit === 'milliseconds' ? 1 : SECOND;
    return Math.max(0, number * unit);
  }
  const date = parseHttpDate(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Returns how long a call must wait for the points that its answer says it lacks. */
function budgetWaitMs(
  { definition: { budget } }: UpstreamCall['connector'],
  answer: { headers: UpstreamAnswer['headers']; body?: Json | undefined },
  now: number,
): number | undefined {
  const points = budget && pointsIn(budget, answer, now);
  const waitMs = points && waitForPoints(points, costIn(budget, answer) ?? 1, now);
  return waitMs === 0 ? undefined : waitMs;
}

type Response = ActionDefinition['response'];

/** Returns a list's records where the app answers with an object or a table; any other value unchanged. */
function recordsIn({ keyedBy, columns }: Response, value: Json, body: Json): Json {
  if (keyedBy !== undefined && isJsonObject(value)) return keyedRecords(keyedBy, value);
  if (columns !== undefined && Array.isArray(value)) return tableRecords(columns, value, body);
  return value;
}

function keyedRecords(keyedBy: string, value: JsonObject): Json[] {
  return Object.entries(value).map(([key, record]) =>
    isJsonObject(record) ? { [keyedBy]: key, ...record } : { [keyedBy]: key, value: record },
  );
}

function tableRecords(
  { at, name = '', cells, value }: NonNullable<Response['columns']>,
  rows: Json[],
  body: Json,
): Json[] {
  const listed = valueAt(body, at);
  const names = (Array.isArray(listed) ? listed : []).map((column) => valueAt(column, name));
  return rows.map((row) => {
    const found = valueAt(row, cells);
    if (!Array.isArray(found)) return row;
    const members = names.flatMap((one, index): [string, Json][] =>
      typeof one === 'string' && one !== '__proto__' ? [[one, valueAt(found[index], value) ?? null]] : [],
    );
    return Object.fromEntries(members);
  });
}
