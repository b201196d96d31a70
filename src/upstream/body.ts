import { createHash, randomBytes } from 'node:crypto';
import { asJson, isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { isFile } from '../connectors/file-values.ts';
import type { Parameter } from '../connectors/format/format.ts';
import { sendsBody } from '../connectors/schemas/action-schemas.ts';
import { pagedIn, type UpstreamCall } from './upstream-call.ts';
import { composedTexts } from './compose.ts';
import { emailOf } from './email.ts';
import { encodedValue } from './encode.ts';
import { mapInput } from './expression.ts';
import { inputForJson, mappedForJson } from './sent-numbers.ts';
import { setMember } from './set-member.ts';
import { queryPairs } from './values.ts';
import { inputFault, type Body } from './request-draft.ts';
import { xmlBody } from './xml-body.ts';

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w.+-]+)*$/;

/**
 * Returns the body of a call, or undefined when its action has none. `evenIfEmpty` makes an empty body, to which the
 * authentication adds members.
 */
export function buildBody(call: UpstreamCall, { evenIfEmpty = false } = {}): Body | undefined {
  const { action, answers } = call;
  const hasBody =
    evenIfEmpty ||
    answers !== undefined ||
    pagedIn(call, 'body') !== undefined ||
    sendsBody(action.definition);
  if (!hasBody || action.method === 'GET' || action.method === 'HEAD') return undefined;
  const whole = Object.entries(action.definition.body).find(([, parameter]) => parameter.whole);
  return whole ? wholeBody(inputForJson(call)[whole[0]]) : bodyWith(call, ownMembers(call));
}

/**
 * Returns the body of an action with `bodyMap`: the expression's value instead of the members.
 * @throws GatehouseError `invalid_request` when the expression fails, or its value is neither an object nor an accepted list.
 */
export async function buildMappedBody(call: UpstreamCall, expression: string): Promise<Body | undefined> {
  const { input } = call;
  const body = membersOf(call, input);
  const value = await mapInput(expression, { input, body }, call.connector);
  const mapped = isJsonBody(call) ? mappedForJson(call, value) : value;
  if (isJsonObject(mapped)) return bodyWith(call, mapped);
  if (Array.isArray(mapped) && takesList(call)) return jsonList(mapped);
  throw inputFault('input', "does not become an object by the connector's mapping of the body");
}

/** Returns whether the body may be a list: plain JSON without a wrap. */
function takesList(call: UpstreamCall): boolean {
  const { wrap, graphql } = call.action.definition;
  return isJsonBody(call) && wrap === undefined && graphql === undefined;
}

/** Returns whether the members of the body are written as JSON. */
function isJsonBody({ connector, action: { definition } }: UpstreamCall): boolean {
  const { graphql, xml } = definition;
  const type = definition.bodyType ?? connector.definition.bodyType;
  return xml === undefined && (graphql !== undefined || type === 'json' || type === 'related');
}

function ownMembers(call: UpstreamCall): JsonObject {
  return membersOf(call, isJsonBody(call) ? inputForJson(call) : call.input);
}

/**
 * Returns the members from the connector file and from the input; none for later pages that have their own path. `sent`
 * is the input in the form of the body.
 */
function membersOf({ action, input, page }: UpstreamCall, sent: JsonObject): JsonObject {
  const members: JsonObject = {};
  if (!(page && 'path' in page && page.path !== undefined))
    addOwnMembers(members, action.definition, { input, sent });
  return members;
}

function bodyWith(call: UpstreamCall, members: JsonObject): Body | undefined {
  const { connector, action, idempotencyKey, answers } = call;
  const { definition } = action;
  for (const [name, part] of Object.entries(pagedIn(call, 'body') ?? {})) setMember(members, name, part);
  if (definition.graphql !== undefined) return graphqlBody(call, definition.graphql, members);

  const type = definition.bodyType ?? connector.definition.bodyType;
  if (definition.xml !== undefined) return xmlBody(definition.xml, members);
  if (type === 'text') return textBody(members);
  if (type === 'binary') return binaryBody(call, members);
  if (definition.wrap === '[]') return jsonList([members]);
  const wrapped = wrappedIn(definition.wrap, members);
  if (definition.idempotencyParam !== undefined && idempotencyKey !== undefined)
    wrapped[definition.idempotencyParam] = idempotencyKey;
  if (type === 'json') return jsonBody({ ...wrapped, ...answers });
  if (type === 'related') return relatedBody(wrapped, call);
  const styles = stylesOf(definition);
  return type === 'form' ? formBody(wrapped, styles) : multipartBody(wrapped, { styles, call });
}

/** Returns a body with the content of one file as the whole body; undefined if the input has no file. */
function binaryBody({ sentFiles }: UpstreamCall, members: JsonObject): Body | undefined {
  const [text] = Object.values(members);
  const file = typeof text === 'string' ? sentFiles?.get(text) : undefined;
  return file && { contentType: file.mediaType, holdsBytes: true, content: () => String(text) };
}

/** Styles by the dotted path of a member in the sent body. */
type Styles = ReadonlyMap<string, Parameter['style']>;

function stylesOf({ body, wrap }: UpstreamCall['action']['definition']): Styles {
  const prefix = wrap === undefined ? '' : `${wrap.replace(/\[\]$/, '')}.`;
  return new Map(
    Object.entries(body).flatMap(([name, parameter]) => {
      const style = styleOf(parameter);
      return style === undefined ? [] : [[`${prefix}${parameter.as ?? name}`, style]];
    }),
  );
}

/** Returns the style of a parameter. By default, a file repeats its name, and a part with its own media type is JSON. */
function styleOf(parameter: Parameter): Parameter['style'] {
  if (parameter.style !== undefined) return parameter.style;
  if (isFile(parameter)) return 'repeat';
  return parameter.contentType === undefined ? undefined : 'json';
}

/** Returns the media types of parts, by their wire name. */
function contentTypesOf({ body }: UpstreamCall['action']['definition']): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(body).flatMap(([name, { as, contentType }]) =>
      contentType === undefined ? [] : [[as ?? name, contentType]],
    ),
  );
}

/**
 * Builds a GraphQL body. Members become variables, and so do texts in a query language and the idempotency key.
 */
function graphqlBody(call: UpstreamCall, query: string, variables: JsonObject): Body {
  const { idempotencyParam } = call.action.definition;
  for (const [name, text] of composedTexts(call)) if (text !== '') setMember(variables, name, text);
  if (idempotencyParam !== undefined && call.idempotencyKey !== undefined)
    setMember(variables, idempotencyParam, call.idempotencyKey);
  return jsonBody({ query, variables });
}

function wrappedIn(wrap: string | undefined, members: JsonObject): JsonObject {
  if (wrap === undefined) return members;
  return wrap.endsWith('[]') ? { [wrap.slice(0, -2)]: [members] } : { [wrap]: members };
}

/** Adds the fixed members of the file and the caller's values. */
function addOwnMembers(
  members: JsonObject,
  { fixed, body, email }: UpstreamCall['action']['definition'],
  { input, sent }: { input: JsonObject; sent: JsonObject },
): void {
  for (const [name, value] of Object.entries(fixed?.body ?? {})) setMember(members, name, asJson(value));
  for (const [name, parameter] of Object.entries(body)) {
    // These forms are made of the text of a number.
    const isText = parameter.prefix !== undefined || !isPlain(parameter.encode);
    const given = (isText ? input : sent)[name];
    if (given === undefined) continue;
    if (parameter.spread && isJsonObject(given)) Object.assign(members, given);
    else setMember(members, parameter.as ?? name, encoded(parameter, { name, value: given, input }));
  }
  if (email) {
    const message = emailOf(input);
    const { encoding } = email;
    setMember(
      members,
      email.as,
      encoding === 'text' ? message : Buffer.from(message, 'utf8').toString(encoding),
    );
  }
}

/** Returns whether an encoding leaves the value as it is. */
function isPlain(encode: Parameter['encode']): boolean {
  return encode === undefined || (typeof encode === 'object' && 'within' in encode);
}

function encoded(
  { encode, prefix }: Parameter,
  { name, value, input }: { name: string; value: Json; input: JsonObject },
): Json {
  if (encode !== undefined) return encodedValue(encode, { name, value, input });
  if (prefix !== undefined && (typeof value === 'string' || typeof value === 'number'))
    return `${prefix}${value}`;
  return value;
}

function jsonBody(members: JsonObject): Body {
  return { contentType: 'application/json', members, content: () => JSON.stringify(members) };
}

/** Returns a list of records, for apps whose writes take several. Authentication may add nothing to it. */
function jsonList(records: Json[]): Body {
  return { contentType: 'application/json', content: () => JSON.stringify(records) };
}

/** Returns a body that is one value; none where the caller gives none. Authentication may add nothing to it. */
function wholeBody(value: Json | undefined): Body | undefined {
  if (value === undefined) return undefined;
  return { contentType: 'application/json', content: () => JSON.stringify(value) };
}

/** Returns a form (application/x-www-form-urlencoded). */
export function formBody(members: JsonObject, styles: Styles): Body {
  const pairs = () => pairsOf(members, styles);
  return {
    contentType: 'application/x-www-form-urlencoded',
    members,
    content: () => new URLSearchParams(pairs()).toString(),
    formPairs: pairs,
  };
}

/**
 * Returns a multipart body (RFC 7578): texts, values with a media type of their own, and files. The boundary is random,
 * so no value can hold it.
 */
function multipartBody(members: JsonObject, { styles, call }: { styles: Styles; call: UpstreamCall }): Body {
  const boundary = `gatehouse-${randomBytes(16).toString('hex')}`;
  const types = contentTypesOf(call.action.definition);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    holdsBytes: true,
    members,
    content() {
      const parts = pairsOf(members, styles).map(([name, text]) => {
        const file = call.sentFiles?.get(text);
        const type = file?.mediaType ?? types.get(name);
        const named = file ? `; filename="${quotable(file.name ?? 'file')}"` : '';
        const typed = type === undefined ? '' : `Content-Type: ${type}\r\n`;
        return `--${boundary}\r\nContent-Disposition: form-data; name="${quotable(name)}"${named}\r\n${typed}\r\n${text}\r\n`;
      });
      return `${parts.join('')}--${boundary}--\r\n`;
    },
  };
}

/** Returns a text for a quoted parameter of a part (HTML standard, multipart/form-data encoding). */
function quotable(text: string): string {
  return text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

/**
 * Returns a related body (RFC 2387). The boundary is a hash of the content, so the content cannot hold it.
 * @throws GatehouseError `invalid_request` for an invalid file.
 */
function relatedBody(members: JsonObject, { input, sentFiles }: UpstreamCall): Body {
  const { file: sent, contentType } = input;
  const file = typeof sent === 'string' ? sentFiles?.get(sent) : undefined;
  const content = file ? (sent ?? null) : (input['content'] ?? null);
  const base64 = file ? null : (input['base64'] ?? null);
  const type =
    typeof contentType === 'string' ? contentType : (file?.mediaType ?? 'text/plain; charset=UTF-8');
  if (!MEDIA_TYPE.test(type)) throw inputFault('contentType', 'must be a media type, such as text/csv');
  const encoded = typeof base64 === 'string' ? base64.replaceAll(/\s/g, '') : undefined;
  if (encoded !== undefined && !/^[A-Za-z0-9+/_-]*={0,2}$/.test(encoded))
    throw inputFault('base64', 'must be the content in base64');
  const bytes =
    encoded === undefined
      ? Buffer.from(typeof content === 'string' ? content : '', 'utf8')
      : Buffer.from(encoded, 'base64');
  const boundary = createHash('sha256')
    .update(JSON.stringify(members))
    .update(bytes)
    .digest('hex')
    .slice(0, 40);
  return {
    contentType: `multipart/related; boundary=${boundary}`,
    holdsBytes: true,
    members,
    content() {
      const head = [
        `--${boundary}`,
        'Content-Type: application/json; charset=UTF-8',
        '',
        JSON.stringify(members),
        `--${boundary}`,
        `Content-Type: ${type}`,
        '',
        '',
      ].join('\r\n');
      return Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]);
    },
  };
}

/** Returns the one parameter of a text body, unchanged. */
function textBody(members: JsonObject): Body {
  const [value = ''] = Object.values(members);
  return {
    contentType: 'text/plain; charset=utf-8',
    content: () => (typeof value === 'string' ? value : JSON.stringify(value)),
  };
}

function pairsOf(members: JsonObject, styles: Styles): [string, string][] {
  return Object.entries(members).flatMap(([name, value]) => memberPairs(name, name, { value, styles }));
}

/** Returns the pairs of a member. `wire` is the sent name, `path` the place of the member. */
function memberPairs(
  wire: string,
  path: string,
  { value, styles }: { value: Json; styles: Styles },
): [string, string][] {
  if (value === null) return [];
  const style = styles.get(path);
  const isSplit = style === undefined && [...styles.keys()].some((one) => one.startsWith(`${path}.`));
  if (!isSplit || !isJsonObject(value)) return queryPairs(wire, value, { style: style ?? 'brackets' });
  return Object.entries(value).flatMap(([name, member]) =>
    memberPairs(`${wire}[${name}]`, `${path}.${name}`, { value: member, styles }),
  );
}
