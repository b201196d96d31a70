import type { Connector } from '../connectors/catalog.ts';
import type { ExchangeStep, TokenExchange } from '../connectors/format/format.ts';
import type { Base } from '../base.ts';
import { answerText } from '../lib/http/body-text.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { parseJson, valueAt, type Json } from '../lib/json.ts';
import type { OutboundAnswer } from '../outbound/outbound.ts';
import { scrub } from '../lib/scrub.ts';
import { signJwt } from '../upstream/sign.ts';
import { sendStep } from './exchange-wire.ts';
import { checkFields, storedFields } from './fields.ts';
import { OAuthRefusal, type Tokens } from './oauth.ts';
import { noAnswer } from './oauth-wire.ts';
import { momentOf } from './token-answer.ts';

/** The account whose fields are exchanged for a token. */
export interface Exchange {
  connector: Connector;
  scheme: TokenExchange;
  values: Record<string, string>;
  signal?: AbortSignal | undefined;
}

type Answered = Pick<OutboundAnswer, 'status' | 'headers'> & { body: Json };

const REFUSALS = new Set([400, 401, 403, 422]);
const UNITS = { seconds: SECOND, minutes: MINUTE, milliseconds: 1 };
/** A longer lifetime means that the token does not expire. */
const MAX_LIFETIME_MS = 10 * 365 * 24 * 60 * MINUTE;
const MAX_SENTENCE_CHARS = 300;

/**
 * Runs the steps of a scheme and returns the token with the other values that they took.
 * @throws OAuthRefusal when the app refused a step, GatehouseError `credential_invalid` when a value does not fit,
 * upstream_* for no definite answer.
 */
export async function exchangeTokens(
  context: Pick<Base, 'outbound' | 'clock'>,
  exchange: Exchange,
): Promise<Tokens> {
  const { connector, scheme, signal } = exchange;
  const fields = storedFields(connector, scheme);
  // Values of an earlier exchange are not used again.
  const entered = [...fields.keys()].filter((name) => !isTaken(scheme, name));
  const values: Record<string, string> = Object.fromEntries(
    entered.map((name) => [name, exchange.values[name] ?? fields.get(name)?.default ?? '']),
  );
  const secrets = Object.entries(values).flatMap(([name, value]) =>
    fields.get(name)?.secret ? [value] : [],
  );
  const taken: Record<string, string> = {};
  let last: Answered | undefined;
  const sentAt = context.clock.now();
  for (const step of scheme.steps) {
    const known = { ...values, ...taken };
    const assertion = step.jwt ? await assertionOf(step.jwt, known, context.clock.now()) : '';
    const answer = await sendStep(context, {
      connector,
      scheme,
      step,
      known: { ...known, assertion },
      signal,
    });
    last = { status: answer.status, headers: answer.headers, body: bodyOf(answer) };
    const refused = step.error !== undefined && isTruthy(valueAt(last.body, step.error));
    if (refused || REFUSALS.has(answer.status))
      throw refusalOf(connector, last, { step, secrets: [...secrets, ...Object.values(taken)] });
    if (answer.status >= 400) throw noAnswer(connector, answer);
    Object.assign(taken, takenFrom(exchange, step, last));
  }
  const { accessToken = '', ...captured } = taken;
  const lifetimeMs = last && lifetimeOf(scheme, last, sentAt);
  return {
    accessToken,
    captured,
    ...(lifetimeMs === undefined || lifetimeMs > MAX_LIFETIME_MS ? {} : { expiresAt: sentAt + lifetimeMs }),
  };
}

function isTaken({ steps }: TokenExchange, name: string): boolean {
  return steps.some(({ take }) => Object.hasOwn(take, name));
}

function assertionOf(
  jwt: NonNullable<ExchangeStep['jwt']>,
  known: Record<string, string>,
  now: number,
): Promise<string> {
  const value = (name: string) => known[name] ?? '';
  return signJwt(jwt, { key: value, claim: value, now });
}

/** Returns the body as JSON, or as the text that it is. */
function bodyOf(answer: OutboundAnswer): Json {
  const text = answerText(answer).trim();
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/**
 * Returns the values of an answer.
 * @throws GatehouseError `upstream_failed` naming the value that is missing or breaks its format.
 */
function takenFrom(
  { connector, scheme }: Exchange,
  { take }: ExchangeStep,
  answer: Answered,
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, place] of Object.entries(take)) {
    const text = textAt(answer, typeof place === 'string' ? place : place.from);
    if (text !== undefined) found[name] = text;
  }
  const stored = storedFields(connector, scheme);
  const wanted = new Map([...stored].filter(([name]) => Object.hasOwn(take, name)));
  const { values, faults } = checkFields(wanted, found);
  const [fault] = faults;
  if (!fault) return values;
  const name = fault.field.replace(/^data\./, '');
  throw new GatehouseError(
    'upstream_failed',
    `${connector.name} answered without a usable ${name} (HTTP ${answer.status}): it ${fault.rule}.`,
    {
      details: { connectorId: connector.connectorId, status: answer.status, reason: 'token_endpoint', name },
    },
  );
}

function textAt({ headers, body }: Answered, place: string): string | undefined {
  const where = place.slice(place.indexOf(':') + 1);
  if (place.startsWith('header:')) return headers[where.toLowerCase()];
  if (place.startsWith('cookie:')) return cookieIn(headers['set-cookie'] ?? '', where);
  const value = valueAt(body, where);
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Returns the value of a cookie in joined Set-Cookie headers, or with `*` all cookies as a Cookie header has them. */
function cookieIn(header: string, name: string): string | undefined {
  const pairs = header
    // A comma also stands in dates; a new cookie begins with a name and an equals sign.
    .split(/,(?=\s*[!#$%&'*+.^_`|~\w-]+=)/)
    .map((cookie) => (cookie.split(';')[0] ?? '').trim());
  if (name === '*') return header === '' ? undefined : pairs.join('; ');
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

function lifetimeOf({ expires }: TokenExchange, answer: Answered, now: number): number | undefined {
  const lifetime = expires.in === undefined ? undefined : Number(textAt(answer, expires.in));
  if (lifetime !== undefined && lifetime > 0) return lifetime * UNITS[expires.unit];
  const moment = expires.at === undefined ? undefined : momentOf(textAt(answer, expires.at));
  if (moment !== undefined && moment > now) return moment - now;
  return expires.seconds === undefined ? undefined : expires.seconds * SECOND;
}

function refusalOf(
  { definition }: Connector,
  { status, body }: Answered,
  { step, secrets }: { step: ExchangeStep; secrets: string[] },
): OAuthRefusal {
  const paths = [
    ...definition.errors.message,
    'error_description',
    'error.message',
    'message',
    ...(step.error === undefined ? [] : [step.error]),
  ];
  const sentence = paths.map((path) => valueAt(body, path)).find((value) => typeof value === 'string');
  const said =
    typeof sentence === 'string' ? scrub(sentence, secrets).slice(0, MAX_SENTENCE_CHARS) : undefined;
  return new OAuthRefusal(`http_${status}`, said, status);
}

function isTruthy(value: Json | undefined): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}
