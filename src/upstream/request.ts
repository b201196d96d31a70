import type { Connector } from '../connectors/catalog.ts';
import { capturedOf } from '../connectors/captured.ts';
import type { Parameter } from '../connectors/format/format.ts';
import { fillTemplate } from '../connectors/templates.ts';
import { GatehouseError } from '../lib/errors.ts';
import { asciiJson, type Json, type JsonObject } from '../lib/json.ts';
import { isStreamed, type SentBody } from '../outbound/outbound-dispatch.ts';
import { FRAMING_HEADERS } from '../lib/http/framing-headers.ts';
import { memoByText } from '../lib/memo.ts';
import type { Secret } from '../lib/secret.ts';
import { readTarget, type RequestTarget } from '../outbound/target.ts';
import { applyAuthentication } from './authentication.ts';
import { buildBody, buildMappedBody } from './body.ts';
import { pagedIn, type UpstreamCall } from './upstream-call.ts';
import { composedTexts } from './compose.ts';
import { encodedValue } from './encode.ts';
import {
  headerValue,
  hrefOf,
  inputFault,
  setQuery,
  type Address,
  type Body,
  type Draft,
} from './request-draft.ts';
import { rawRequest } from './raw-request.ts';
import { wholeBody, withContents, withSentFiles } from './sent-files.ts';
import { queryPairs } from './values.ts';
import { readsXml } from './xml-answer.ts';

/** A complete, signed request. `secrets` are the secret values that it contains, for the scrubber. */
export interface BuiltRequest {
  method: string;
  url: string;
  /** Lower-case names. */
  headers: Record<string, string>;
  body: SentBody | undefined;
  secrets: Secret[];
}

/** Headers that input cannot set, because they would change the credential or the framing of the request. */
const FORBIDDEN_HEADERS = new Set([
  ...FRAMING_HEADERS,
  'authorization',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
]);
// eslint-disable-next-line no-control-regex -- these patterns find control characters
const CONTROL = /[\u0000-\u001f\u007f]/;
const USER_AGENT = 'Gatehouse/0.1';
/** The largest body with files that is read into memory to be signed. */
const MAX_SIGNED_BYTES = 10 * 1024 * 1024;

/**
 * Returns the request of a call from template, input and credential. No parameter can change its origin, the shape of
 * its path, or its headers. The function is pure except for the nonces and times of signatures.
 * @throws GatehouseError `invalid_request` naming the parameter and the rule it breaks.
 */
export async function buildRequest(asked: UpstreamCall, now: number): Promise<BuiltRequest> {
  const call = await withSentFiles(asked);
  const { connector, action, page } = call;
  const { definition } = action;
  const value = valuesOf(call);
  const base = baseUrl(call, value);

  const draft: Draft = action.raw
    ? rawDraft(call, { base, value })
    : {
        method: action.method,
        address: page && 'url' in page ? nextAddress(page.url, base) : actionAddress(call, base),
        headers: headersOf(call, value),
        body:
          definition.bodyMap === undefined
            ? buildBody(call)
            : await buildMappedBody(call, definition.bodyMap),
      };
  if (call.idempotencyKey !== undefined && action.effect !== 'read') {
    const { idempotencyHeader, idempotencyQuery } = connector.definition;
    if (idempotencyHeader !== undefined)
      draft.headers[idempotencyHeader.toLowerCase()] = headerValue('Idempotency-Key', call.idempotencyKey);
    if (idempotencyQuery !== undefined) setQuery(draft.address, idempotencyQuery, call.idempotencyKey);
  }
  if (definition.response.stream === 'events')
    draft.headers['accept'] = 'text/event-stream, application/json';
  if (readsXml(call)) draft.headers['accept'] = 'text/xml, application/xml';
  if (draft.body && signsBody(call)) await loadFiles(draft.body, call);
  const secrets = await applyAuthentication(draft, call, { value, now });
  const { body } = draft;
  if (body) draft.headers['content-type'] ??= body.contentType;
  return {
    method: draft.method,
    url: hrefOf(draft.address),
    headers: draft.headers,
    body: body && withContents(body.content(), { ...call, holdsBytes: body.holdsBytes }),
    secrets,
  };
}

/** Returns the request of a raw call. Headers of the caller replace those of the file. */
function rawDraft(
  call: UpstreamCall,
  { base, value }: { base: RequestTarget; value: (name: string) => string },
): Draft {
  const draft = rawRequest(call, base);
  return { ...draft, headers: { ...headersOf(call, value), ...draft.headers } };
}

/** Returns whether a signature covers the content of the body. */
function signsBody({ credential, sentFiles }: UpstreamCall): boolean {
  if (!sentFiles || credential?.scheme.type !== 'custom') return false;
  const { sign } = credential.scheme;
  return sign !== undefined && sign.type !== 'oauth1';
}

/** Reads the files of a body into it. @throws GatehouseError `payload_too_large` */
async function loadFiles(body: Body, call: UpstreamCall): Promise<void> {
  const sent = withContents(body.content(), { ...call, holdsBytes: body.holdsBytes });
  if (!isStreamed(sent)) return;
  const content = await wholeBody(sent, MAX_SIGNED_BYTES);
  body.content = () => content;
}

/** The endpoint of a remote MCP server, with the headers of a call and its live secrets. */
export type Endpoint = Pick<BuiltRequest, 'url' | 'headers' | 'secrets'>;

/**
 * Returns the endpoint for a call of `protocol: mcp`.
 * @throws as buildRequest()
 */
export async function buildEndpoint(call: UpstreamCall, now: number): Promise<Endpoint> {
  const value = valuesOf(call);
  const { origin, host, path } = baseUrl(call, value);
  const [pathname = '', query = ''] = path.split('?', 2);
  const draft: Draft = {
    method: 'POST',
    address: { origin, host, path: pathname, query },
    headers: headersOf(call, value),
    body: undefined,
  };
  const secrets = await applyAuthentication(draft, call, { value, now });
  return { url: hrefOf(draft.address), headers: draft.headers, secrets };
}

/** Returns the origin to which a call is sent. */
export function originOf(call: UpstreamCall): string {
  return baseUrl(call, valuesOf(call)).origin;
}

/**
 * Makes a next address of the link style absolute.
 * @throws `upstream_failed` when it leaves the connector's origin.
 */
export function resolveLink(call: UpstreamCall, link: string): string {
  const base = baseUrl(call, valuesOf(call));
  const from = hrefOf(actionAddress(call, base));
  return hrefOf(nextAddress(URL.canParse(link, from) ? new URL(link, from).href : link, base));
}

function nextAddress(link: string, base: RequestTarget): Address {
  const url = URL.canParse(link) ? new URL(link) : undefined;
  if (url?.origin === base.origin && !url.username && !url.password)
    return { origin: base.origin, host: base.host, path: url.pathname, query: url.search.slice(1) };
  throw new GatehouseError(
    'upstream_failed',
    'The third party gave a next page at another origin; it was not followed.',
  );
}

/** Returns a function from a name in a template to its value: from the credential, else the default of the variable. */
export function valuesOf({ connector, credential }: UpstreamCall): (name: string) => string {
  return (name) => credential?.values[name]?.open() ?? connector.definition.variables[name]?.default ?? '';
}

/**
 * Returns the base URL with its variables. They are checked again by their format, because a stored value may be older
 * than the rule.
 */
function baseUrl({ connector, action }: UpstreamCall, value: (name: string) => string): RequestTarget {
  const { definition } = connector;
  const filled = fillTemplate(action.definition.baseUrl ?? definition.baseUrl, (name) => {
    const text = value(name);
    const field = definition.variables[name] ?? fieldOf(connector, name);
    const rule = text === '' ? 'is missing' : addressFault(text, field?.format ?? 'text');
    if (rule) throw invalidCredential(connector, `its ${name} ${rule}`);
    return text.replace(/\/+$/, '');
  });
  try {
    return targetOf(filled);
  } catch {
    throw invalidCredential(connector, 'its address is not valid');
  }
}

/** Splits the address of an app. Cached, because URL takes 4 µs. */
const targetOf = memoByText(1000, readTarget);

function fieldOf(connector: Connector, name: string) {
  for (const scheme of connector.definition.authentication) {
    if ('fields' in scheme && scheme.fields[name]) return scheme.fields[name];
    const captured = capturedOf(scheme)[name];
    if (captured) return captured;
  }
  return undefined;
}

/** Returns the rule that a value for an address breaks. */
export function addressFault(text: string, format: string): string | undefined {
  if (format === 'origin') {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const good =
      url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
    return good ? undefined : 'is not an http(s) address';
  }
  if (format === 'host')
    return /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(text) ? undefined : 'is not a host name';
  return /^[a-z0-9]([a-z0-9_-]{0,62})$/i.test(text) ? undefined : 'is not a valid part of a host name';
}

function invalidCredential(connector: Connector, what: string): GatehouseError {
  return new GatehouseError(
    'credential_invalid',
    `The credential for ${connector.name} cannot be used: ${what}. Change it.`,
    {
      details: { reason: 'invalid_value' },
    },
  );
}

function actionAddress(call: UpstreamCall, base: RequestTarget): Address {
  const { action, input, page } = call;
  const { definition } = action;
  const laterPath = page && 'path' in page ? page.path : undefined;
  const prefix = base.path.replace(/\/?(\?.*)?$/, '');
  const path =
    prefix +
    fillTemplate(laterPath ?? action.path, (name) => pathText(name, input[name], definition.path[name]));
  assertPathUnchanged(action.path, base.origin, path);
  const query = new URLSearchParams();
  const own = laterPath === undefined ? definition : undefined;
  for (const [name, fixed] of Object.entries(own?.fixed?.query ?? {})) query.append(name, String(fixed));
  const escape = definition.escape ?? call.connector.definition.escape;
  for (const [name, parameter] of Object.entries(own?.query ?? {})) {
    const given = input[name];
    if (given === undefined || given === null) continue;
    const { encode } = parameter;
    const value = encode === undefined ? given : encodedValue(encode, { name, value: given, input });
    for (const [key, text] of queryPairs(parameter.as ?? name, value, { ...parameter, escape }))
      query.append(key, text);
  }
  if (definition.graphql === undefined)
    for (const [name, text] of composedTexts(call)) query.append(name, text);
  for (const [name, part] of Object.entries(pagedIn(call, 'query') ?? {})) query.set(name, String(part));
  return { origin: base.origin, host: base.host, path, query: query.toString() };
}

/** Paths that the URL parser leaves unchanged: no other characters, and no segment that begins with a dot. */
const UNCHANGED = /^(?:\/(?!\.|%2e)[\w.~!*'()%:@$&+,;=-]*)+$/i;

/** Checks that the URL parser leaves every segment unchanged. The parser drops dot segments in any spelling. */
function assertPathUnchanged(template: string, origin: string, path: string): void {
  if (UNCHANGED.test(path)) return;
  const url = URL.canParse(origin + path) ? new URL(origin + path) : undefined;
  if (url?.origin === origin && url.pathname === path) return;
  throw inputFault(template, 'the parameters would change the path');
}

/** Returns the text of a parameter in a path. A list becomes its encoded values with unencoded commas between them. */
function pathText(name: string, value: Json | undefined, parameter?: Parameter): string {
  return Array.isArray(value) && value.length > 0
    ? value.map((one) => pathValue(name, one)).join(',')
    : pathValue(name, value, parameter);
}

/** Returns the text of one value in a path. Only a parameter with `slashes` may add further segments. */
function pathValue(name: string, value: Json | undefined, parameter?: Parameter): string {
  if (parameter?.slashes && typeof value === 'string')
    return value
      .split('/')
      .map((segment) => pathValue(name, segment))
      .join('/');
  const text =
    typeof value === 'string'
      ? value
      : typeof value === 'number' || typeof value === 'boolean'
        ? String(value)
        : '';
  const rule =
    text === ''
      ? 'must not be empty'
      : text === '.' || text === '..'
        ? 'must not be a dot segment'
        : CONTROL.test(text)
          ? 'must not hold control characters'
          : text.includes('\\')
            ? 'must not hold a backslash'
            : undefined;
  if (rule) throw inputFault(name, rule);
  return encodeURIComponent(text.isWellFormed() ? text : text.toWellFormed());
}

function headersOf(call: UpstreamCall, value: (name: string) => string): Record<string, string> {
  const { connector, action, input } = call;
  const headers: Record<string, string> = {
    accept: 'application/json',
    'user-agent': USER_AGENT,
    ...call.trace,
  };
  for (const [name, template] of Object.entries(connector.definition.headers)) {
    headers[name.toLowerCase()] = headerValue(name, fillTemplate(template, value));
  }
  for (const [name, template] of Object.entries(action.definition.fixed?.headers ?? {})) {
    const text = fillTemplate(template, value);
    if (text !== '') headers[name.toLowerCase()] = headerValue(name, text);
  }
  for (const [name, part] of Object.entries(pagedIn(call, 'header') ?? {}))
    headers[name.toLowerCase()] = headerValue(name, String(part));
  const nested: Record<string, JsonObject> = {};
  for (const [name, parameter] of Object.entries(action.definition.headers)) {
    const given = input[name];
    if (given === undefined || given === null) continue;
    const [header = '', member] = parameter.as?.split('.') ?? [];
    if (member === undefined) {
      addHeader(headers, name, { parameter, given });
      continue;
    }
    const members = { ...nested[header], [member]: given };
    nested[header] = members;
    addHeader(headers, name, { parameter: { as: header }, given: members });
  }
  const cookies = cookiesOf(call);
  return cookies === '' ? headers : { ...headers, cookie: cookies };
}

/** Returns the cookies of a call; encoded, so that no value can add one. */
function cookiesOf({ action, input }: UpstreamCall): string {
  return Object.entries(action.definition.cookies)
    .flatMap(([name, parameter]) => {
      const given = input[name];
      if (given === undefined || given === null) return [];
      const text = typeof given === 'string' ? given : JSON.stringify(given);
      return [`${parameter.as ?? name}=${encodeURIComponent(text.toWellFormed())}`];
    })
    .join('; ');
}

function addHeader(
  headers: Record<string, string>,
  name: string,
  { parameter, given }: { parameter: Parameter; given: Json },
): void {
  const header = (parameter.as ?? name.replaceAll('_', '-')).toLowerCase();
  if (FORBIDDEN_HEADERS.has(header)) throw inputFault(name, `the header ${header} is never taken from input`);
  headers[header] = headerValue(name, headerText(parameter, given));
}

function headerText({ style }: Parameter, given: Json): string {
  if (typeof given === 'string') return given;
  if (style !== 'comma' || !Array.isArray(given)) return asciiJson(JSON.stringify(given));
  return given.map((one) => (typeof one === 'string' ? one : asciiJson(JSON.stringify(one)))).join(',');
}
