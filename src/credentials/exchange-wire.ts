import { SANDBOX_ID, type Connector } from '../connectors/catalog.ts';
import type { ExchangeStep, TokenExchange } from '../connectors/format/format.ts';
import { fillTemplate } from '../connectors/templates.ts';
import type { Base } from '../base.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { OutboundAnswer } from '../outbound/outbound.ts';
import { setMember } from '../upstream/set-member.ts';
import { headerValue } from '../upstream/request-draft.ts';
import { filledAddress, TOKEN_TIMEOUT_MS } from './oauth-wire.ts';

/** A token answer has about 2 KB. */
const MAX_ANSWER_BYTES = 256 * 1024;

/** Sends one step of a token exchange. Redirects are answers, because logins set cookies with them. */
export async function sendStep(
  { outbound }: Pick<Base, 'outbound'>,
  {
    connector,
    scheme,
    step,
    known,
    signal,
  }: {
    connector: Connector;
    scheme: TokenExchange;
    step: ExchangeStep;
    /** Values of the templates by name. */
    known: Record<string, string>;
    signal: AbortSignal | undefined;
  },
): Promise<OutboundAnswer> {
  const fill = (template: string) => fillTemplate(template, (name) => known[name] ?? '');
  const [method = '', template = ''] = step.request.split(' ');
  const client = { clientId: '', clientSecret: undefined, scopes: undefined, fields: {} };
  const url = filledAddress({ connector, scheme, client, values: known }, template);
  for (const [name, text] of Object.entries(step.query)) url.searchParams.set(name, fill(text));
  const headers: Record<string, string> = { accept: 'application/json', 'user-agent': 'Gatehouse/0.1' };
  if (step.basic) {
    const pair = `${fill(step.basic.username)}:${fill(step.basic.password)}`;
    headers['authorization'] = `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`;
  }
  const body = bodyOf(step, fill);
  if (body) headers['content-type'] = body.type;
  for (const [name, text] of Object.entries(step.headers))
    headers[name.toLowerCase()] = headerValue(name, fill(text));
  return outbound.request({
    method,
    url: url.href,
    headers,
    ...(body ? { body: body.text } : {}),
    ...(signal ? { signal } : {}),
    timeoutMs: TOKEN_TIMEOUT_MS,
    maxBytes: MAX_ANSWER_BYTES,
    allowSandbox: connector.connectorId === SANDBOX_ID,
  });
}

function bodyOf(
  { body, bodyType }: ExchangeStep,
  fill: (template: string) => string,
): { type: string; text: string } | undefined {
  const filled = Object.entries(body).map(([name, value]): [string, Json] => [
    name,
    typeof value === 'string' ? fill(value) : value,
  ]);
  if (filled.length === 0) return undefined;
  if (bodyType === 'json') {
    const members: JsonObject = {};
    for (const [name, value] of filled) setMember(members, name, value);
    return { type: 'application/json', text: JSON.stringify(members) };
  }
  const pairs = filled.map(([name, value]): [string, string] => [name, String(value)]);
  return { type: 'application/x-www-form-urlencoded', text: new URLSearchParams(pairs).toString() };
}
