import type { ClientAuth } from 'oauth4webapi';
import { SANDBOX_ID, type Connector } from '../connectors/catalog.ts';
import type { OAuth, TokenScheme } from '../connectors/format/format.ts';
import { fillTemplate } from '../connectors/templates.ts';
import type { Base } from '../base.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { OutboundAnswer } from '../outbound/outbound.ts';
import { addressFault } from '../upstream/request.ts';
import { appFields, storedFields } from './fields.ts';
import type { OAuthClient } from './oauth-client.ts';

/** The parts of a request to an authorization server. */
export interface Grant {
  connector: Connector;
  scheme: OAuth;
  client: OAuthClient;
  values: Record<string, string>;
}

/** Shorter than any lease under which tokens are renewed: see refresh.ts. */
export const TOKEN_TIMEOUT_MS = 15 * SECOND;
/** A token answer has about 2 KB. */
const MAX_ANSWER_BYTES = 256 * 1024;
const HEADERS = { accept: 'application/json', 'user-agent': 'Gatehouse/0.1' };

/** Returns a function that fills a template from fields, variables, `{clientId}`, and `more`. */
export function filler(grant: Grant, more: Record<string, string> = {}): (template: string) => string {
  return (template) => fillTemplate(template, (name) => more[name] ?? valueOf(grant, name));
}

/**
 * Returns an address of the authorization server. Each part is checked again, because a stored value may be older
 * than its rule. `more` holds further parts, which are encoded. The client secret goes only to the host where the
 * OAuth app is registered.
 * @throws GatehouseError `credential_invalid` naming the value that does not fit, `oauth_app_missing`.
 */
export function filledAddress(
  grant: Omit<Grant, 'scheme'> & { scheme: TokenScheme },
  template: string,
  more: Record<string, string> = {},
): URL {
  const { connector, scheme, client } = grant;
  const ofApp = appFields(connector, scheme);
  const fields = storedFields(connector, scheme);
  const filled = fillTemplate(template, (name) => {
    const part = name === 'clientId' ? client.clientId : more[name];
    if (part !== undefined) return encodeURIComponent(part);
    const text = valueOf(grant, name);
    const field = fields.get(name);
    const rule = text === '' ? 'is missing' : addressFault(text, field?.format ?? 'text');
    if (rule !== undefined) throw invalidAddress(connector, `its ${name} ${rule}`);
    if (ofApp.has(name) && text !== client.fields[name]) throw otherApp(connector, name);
    return text.replace(/\/+$/, '');
  });
  const url = URL.canParse(filled) ? new URL(filled) : undefined;
  if (!url || url.username !== '' || url.password !== '')
    throw invalidAddress(connector, 'its address is not valid');
  return url;
}

function otherApp({ connectorId, name }: Connector, field: string): GatehouseError {
  return new GatehouseError(
    'oauth_app_missing',
    `The OAuth app for ${name} and this account have different values of ${field}.`,
    {
      details: { connectorId, field },
      fix: `An operator can set fields.${field} with PUT /api/connectors/${connectorId}/oauth-app.`,
    },
  );
}

function invalidAddress({ name }: Connector, what: string): GatehouseError {
  return new GatehouseError(
    'credential_invalid',
    `The credential for ${name} cannot be used: ${what}. Change it.`,
    { details: { reason: 'invalid_value' } },
  );
}

function valueOf(
  { connector, scheme, client, values }: Omit<Grant, 'scheme'> & { scheme: TokenScheme },
  name: string,
): string {
  if (name === 'clientId') return client.clientId;
  const field = scheme.fields[name] ?? connector.definition.variables[name];
  return values[name] ?? field?.default ?? '';
}

/** Authenticates the client (RFC 6749 section 2.3.1). Without a secret it sends its id alone. */
export function clientAuth(style: OAuth['clientAuthentication'], { clientSecret }: OAuthClient): ClientAuth {
  return (...[, { client_id: clientId }, body, headers]) => {
    const secret = clientSecret?.open() ?? '';
    if (style === 'basic' && secret !== '') {
      const pair = `${encodePart(clientId)}:${encodePart(secret)}`;
      headers.set('authorization', `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`);
      return;
    }
    body.set('client_id', clientId);
    if (style !== 'none' && secret !== '') body.set('client_secret', secret);
  };
}

/** Encodes for a form but leaves `-._~` unchanged: ids and secrets often contain them, and few apps decode. */
function encodePart(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}

/** Sends parameters as a form, as JSON or in the query, through the SSRF guard. @throws GatehouseError upstream_* */
export async function sendParams(
  { outbound }: Pick<Base, 'outbound'>,
  { connector }: Pick<Grant, 'connector'>,
  input: {
    url: string;
    method: 'POST' | 'DELETE' | 'GET';
    style: 'form' | 'json' | 'query';
    params: URLSearchParams;
    headers: Record<string, string>;
    timeoutMs: number;
    signal?: AbortSignal | undefined;
  },
): Promise<OutboundAnswer> {
  const url = new URL(input.url);
  const { 'content-type': _form, ...given } = input.headers;
  const headers: Record<string, string> = { ...HEADERS, ...given };
  let body: string | undefined;
  if (input.style === 'query' || input.method === 'GET') {
    for (const [name, value] of input.params) url.searchParams.set(name, value);
  } else if (input.style === 'json') {
    headers['content-type'] = 'application/json';
    body = JSON.stringify(Object.fromEntries(input.params));
  } else {
    headers['content-type'] = 'application/x-www-form-urlencoded';
    body = input.params.toString();
  }
  return outbound.request({
    method: input.method,
    url: url.href,
    headers,
    ...(body === undefined ? {} : { body }),
    ...(input.signal ? { signal: input.signal } : {}),
    timeoutMs: input.timeoutMs,
    maxBytes: MAX_ANSWER_BYTES,
    allowSandbox: connector.connectorId === SANDBOX_ID,
  });
}

/** Returns the error for an answer that decides nothing: a server fault, or a body that is not OAuth. */
export function noAnswer({ name, connectorId }: Connector, answer: OutboundAnswer): GatehouseError {
  const { status, headers } = answer;
  const details = { status, connectorId, reason: 'token_endpoint' };
  if (status === 429) {
    const asked = headers['retry-after'] ?? '';
    return new GatehouseError('upstream_rate_limited', `${name} limits its token requests (HTTP 429).`, {
      details,
      retryAfterSeconds: /^\d{1,6}$/.test(asked) ? Number(asked) : 30,
    });
  }
  return new GatehouseError(
    'upstream_failed',
    `${name} gave no tokens. Its token endpoint answered HTTP ${status} without a reason.`,
    { details },
  );
}
