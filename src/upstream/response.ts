import type { UpstreamErrors } from '../connectors/format.ts';
import { parseHttpDate, SECOND } from '../lib/clock.ts';
import { GatehouseError, type ErrorCode } from '../lib/errors.ts';
import { isJsonObject, valueAt, type Json } from '../lib/json.ts';
import { scrub } from '../lib/scrub.ts';
import type { UpstreamAnswer, UpstreamCall } from './call.ts';
import { mapValue } from './expression.ts';

const EXCERPT_CHARS = 500;
type Kind = Extract<
  ErrorCode,
  'credential_invalid' | 'upstream_rejected' | 'upstream_rate_limited' | 'upstream_failed'
>;

/**
 * What an answer means: the value that the action promises, or the contract's error for what the third party said.
 * @throws GatehouseError `credential_invalid`, `upstream_rejected`, `upstream_rate_limited`, `upstream_failed`
 */
export async function interpretAnswer(call: UpstreamCall, answer: UpstreamAnswer): Promise<{ value: Json }> {
  const { errors } = call.connector.definition;
  const kind = errorKind(errors, answer);
  if (kind) throw upstreamError(call, answer, kind);
  const { response } = call.action.definition;
  const found = placeOf(call, answer);
  const value = found === undefined ? (call.action.list ? emptyList(call, answer) : null) : found;
  if (response.map === undefined) return { value };
  return {
    value:
      Array.isArray(value) && call.action.list
        ? await mapEach(response.map, value, answer.secrets)
        : await mapValue(response.map, value, answer.secrets),
  };
}

/** What an answer holds where the file says; undefined when nothing is there. No body at all has no place either. */
function placeOf({ action }: UpstreamCall, { body }: UpstreamAnswer): Json | undefined {
  const { data } = action.definition.response;
  return data === '' && body === null ? undefined : valueAt(body, data);
}

/** Nothing instead of a list: that is how some apps say that it is empty, and how they all look when they are down. */
function emptyList({ connector, action }: UpstreamCall, { status, body }: UpstreamAnswer): Json[] {
  if (status === 204) return [];
  const { data, whenEmpty } = action.definition.response;
  if (whenEmpty && isJsonObject(body) && Object.keys(body).every((name) => whenEmpty.includes(name)))
    return [];
  const place = data === '' ? 'its body' : `"${data}"`;
  throw new GatehouseError(
    'upstream_failed',
    `${connector.name} answered without a list of records: there is nothing at ${place}.`,
    { details: { status, connectorId: connector.connectorId, reason: 'no_list' } },
  );
}

/**
 * Whether a successful answer says that there is no such record: null in its place, or a list that ends before it. An
 * answer without the place says nothing of the record.
 */
export function saysNone({ action }: UpstreamCall, { body }: UpstreamAnswer): boolean {
  const { data } = action.definition.response;
  if (data === '') return false;
  return valueAt(body, data) === null || endsBefore(body, data);
}

function endsBefore(body: Json, path: string): boolean {
  const end = path.lastIndexOf('.');
  const list = valueAt(body, path.slice(0, Math.max(0, end)));
  return Array.isArray(list) && Number(path.slice(end + 1)) >= list.length;
}

async function mapEach(expression: string, records: Json[], secrets: readonly string[]): Promise<Json> {
  const mapped: Json[] = [];
  for (const record of records) mapped.push(await mapValue(expression, record, secrets));
  return mapped;
}

/** What kind of error an answer is, or undefined for success. */
export function errorKind(errors: UpstreamErrors, { status, body }: UpstreamAnswer): Kind | undefined {
  const said = status < 400 && errors.when.some(({ path, equals }) => holds(valueAt(body, path), equals));
  if (status < 300 && !said) return undefined;
  const code = errors.code === undefined ? undefined : valueAt(body, errors.code);
  const byCode = code === undefined || code === null ? undefined : errors.codes[String(code)];
  return byCode ?? errors.statuses[String(status)] ?? (said ? 'upstream_rejected' : kindOfStatus(status));
}

function holds(value: Json | undefined, equals: string | number | boolean | undefined): boolean {
  if (equals !== undefined) return value === equals;
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function kindOfStatus(status: number): Kind {
  if (status === 401) return 'credential_invalid';
  if (status === 429) return 'upstream_rate_limited';
  return status >= 400 && status < 500 ? 'upstream_rejected' : 'upstream_failed';
}

function upstreamError(call: UpstreamCall, answer: UpstreamAnswer, kind: Kind): GatehouseError {
  const { name, definition } = call.connector;
  const { status } = answer;
  const said = sentenceOf(definition.errors, answer);
  const told = said === '' ? `HTTP ${status}` : `HTTP ${status}: ${said}`;
  const details = {
    status,
    connectorId: call.connector.connectorId,
    ...(said === '' ? {} : { message: said }),
  };
  switch (kind) {
    case 'credential_invalid':
      return new GatehouseError('credential_invalid', `${name} refused the credential (${told}).`, {
        details: {
          ...details,
          reason: 'refused',
          ...(call.credential ? { credentialId: call.credential.credentialId } : {}),
        },
      });
    case 'upstream_rate_limited': {
      const seconds = Math.ceil((retryAfterMs(call, answer, Date.now()) ?? 30 * SECOND) / SECOND);
      return new GatehouseError(
        'upstream_rate_limited',
        `${name} limits its calls (${told}). Try again in ${seconds} s.`,
        {
          details,
          headers: { 'Retry-After': String(seconds) },
        },
      );
    }
    case 'upstream_rejected':
      return new GatehouseError('upstream_rejected', `${name} refused the call (${told}).`, { details });
    case 'upstream_failed':
      return new GatehouseError('upstream_failed', `${name} failed (${told}).`, { details });
  }
}

/** The app's own sentence, without secrets, one line of at most 500 characters. */
function sentenceOf(errors: UpstreamErrors, { body, secrets }: UpstreamAnswer): string {
  for (const path of errors.message) {
    const found = valueAt(body, path);
    if (found === undefined || found === null || found === '' || isEmpty(found)) continue;
    return excerpt(typeof found === 'string' ? found : JSON.stringify(found), secrets);
  }
  if (body === null || body === '') return '';
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  // A page for browsers says nothing to a caller.
  return /^\s*<(!doctype|html)/i.test(text) ? '' : excerpt(text, secrets);
}

/** A list or object of nothing says nothing. */
function isEmpty(value: Json): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function excerpt(text: string, secrets: readonly string[]): string {
  // Scrubbed as a whole, cut afterwards: half a secret would not be found.
  const clean = scrub(text, secrets)
    .slice(0, 10 * EXCERPT_CHARS)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return clean.length > EXCERPT_CHARS ? `${clean.slice(0, EXCERPT_CHARS - 1).toWellFormed()}…` : clean;
}

/** How long the third party asks to wait, in milliseconds: seconds, an HTTP date, or an epoch in seconds or ms. */
export function retryAfterMs(
  { connector }: Pick<UpstreamCall, 'connector'>,
  { headers }: Pick<UpstreamAnswer, 'headers'>,
  now: number,
): number | undefined {
  const { retryAfterHeader, retryAfterUnit } = connector.definition;
  const own = retryAfterHeader && headers[retryAfterHeader.toLowerCase()];
  const text = headers['retry-after'] ?? own;
  if (text === undefined || text === '') return undefined;
  const number = Number(text);
  if (Number.isFinite(number)) {
    // Nobody asks for more than ten years of patience: such a number is a point in time.
    if (number > 1e11) return Math.max(0, number - now);
    if (number > 1e9) return Math.max(0, number * SECOND - now);
    const unit = headers['retry-after'] === undefined && retryAfterUnit === 'milliseconds' ? 1 : SECOND;
    return Math.max(0, number * unit);
  }
  const date = parseHttpDate(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
