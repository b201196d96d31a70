import type { JsonSchema } from '../connectors/format/format.ts';
import { readBody } from './request-body.ts';
import type { Import, Written } from './context.ts';
import { effectFor } from './operation-effect.ts';
import { isRecord, LeftOut, memberOf, textAt } from './node.ts';
import type { Operation } from './operation.ts';
import { findPaging, type FoundPaging } from './paging.ts';
import { readParameters } from './operation-parameters.ts';
import { readAnswer, type OperationResponse } from './operation-answer.ts';
import type { Security } from './security.ts';
import { ownServer, type Server } from './document-servers.ts';
import { plainText } from './plain-text.ts';

const MAX_NAME = 80;
const MAX_DESCRIPTION = 500;

export interface ReadAction {
  action: Written;
  /** Headers by which the app recognises a repeated call, and variables of the operation's own address. */
  idempotencyHeader: string | undefined;
  variables: Server['variables'];
}

/**
 * Returns the action of an operation.
 * @throws LeftOut with the reason why it cannot be one.
 */
export function readAction(
  context: Import,
  operation: Operation,
  { security, server }: { security: Security; server: Server },
): ReadAction {
  const answer = readAnswer(context, operation);
  const paging = findPaging(context, operation, answer);
  const paged = new Set(paging?.parameters);
  const called = { ...operation, parameters: operation.parameters.filter((one) => !paged.has(one)) };
  const read = readParameters(context, called, {
    isCredential: (parameter) => security.supplies(operation, parameter),
    isList: paging !== undefined,
  });
  const body = readBody(context, operation, read.names);
  const { path, fixedQuery } = writtenPath(operation.path, read.pathNames);
  const own = ownServer(context, [operation.node, operation.pathNode], server);
  const effect = effectFor(operation);
  const action: Written = {
    ...titles(operation),
    ...(effect === undefined ? {} : { effect }),
    ...security.needs(operation),
    request: `${operation.method} ${path}`,
    ...(own === undefined ? {} : { baseUrl: own.baseUrl }),
    ...read.members,
    ...body,
    ...fixedOf(body, fixedQuery, read.fixedHeaders),
    ...(paging === undefined ? {} : { paging: paging.paging }),
    ...responseOf(context, answer, paging),
  };
  return { action, idempotencyHeader: read.idempotencyHeader, variables: own?.variables ?? {} };
}

function titles({ node, method, path, tags }: Operation): Written {
  const summary = plainText(textAt(node, 'summary'), MAX_NAME * 2);
  const about = plainText(textAt(node, 'description'), MAX_DESCRIPTION);
  const deprecated = memberOf(node, 'deprecated').value === true ? 'Deprecated. ' : '';
  const words = about ?? summary ?? `${method} ${path}`.replaceAll(/[{}]/g, '');
  const description = plainText(`${deprecated}${words}`, MAX_DESCRIPTION) ?? method;
  const name = summary !== undefined && summary.length <= MAX_NAME ? { name: summary } : {};
  const synonyms = tags.flatMap((tag) => plainText(tag, 60) ?? []).slice(0, 5);
  return { ...name, description, ...(synonyms.length === 0 ? {} : { synonyms }) };
}

function fixedOf(body: Written, query: Record<string, string>, headers: Record<string, string>): Written {
  const given = isRecord(body['fixed']) ? body['fixed'] : {};
  const allHeaders = { ...headers, ...(isRecord(given['headers']) ? given['headers'] : {}) };
  const fixed = {
    ...(Object.keys(query).length > 0 ? { query } : {}),
    ...(Object.keys(allHeaders).length > 0 ? { headers: allHeaders } : {}),
  };
  return Object.keys(fixed).length > 0 ? { fixed } : {};
}

function responseOf(
  context: Import,
  { schema, isFile }: OperationResponse,
  paging: FoundPaging | undefined,
): Written {
  if (isFile) return { response: { body: 'file' } };
  if (!schema) return {};
  const converted: JsonSchema = context.book.convert(paging ? paging.record : schema, 'output');
  const written = {
    ...(paging && paging.data !== '' ? { data: paging.data } : {}),
    ...(Object.keys(converted).length > 0 ? { schema: converted } : {}),
  };
  return Object.keys(written).length > 0 ? { response: written } : {};
}

/** A path of the format, and the query that some documents write into a path. */
interface WrittenPath {
  path: string;
  fixedQuery: Record<string, string>;
}

/**
 * Returns the path of a request with the parameter names of the action.
 * @throws LeftOut for a path that would lead elsewhere.
 */
function writtenPath(path: string, names: ReadonlyMap<string, string>): WrittenPath {
  const [whole = ''] = path.split('#');
  const mark = whole.indexOf('?');
  const plain = mark < 0 ? whole : whole.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : whole.slice(mark + 1));
  if ([...query.values()].some((value) => /[{}]/.test(value)))
    throw new LeftOut('its path holds parameters after a question mark');
  const written = plain
    .split(/(\{[^{}]*\})/)
    .map((part, index) => (index % 2 === 1 ? `{${names.get(part.slice(1, -1)) ?? ''}}` : encodedPart(part)))
    .join('');
  const segments = written.replaceAll(/%2e/gi, '.').split('/');
  if (segments.some((segment) => segment === '.' || segment === '..'))
    throw new LeftOut('its path holds dot segments');
  if (written.startsWith('//')) throw new LeftOut('its path begins with two slashes');
  return { path: written, fixedQuery: Object.fromEntries(query) };
}

/** Encodes what an address would encode, so that it stays the same there. */
function encodedPart(part: string): string {
  return part
    .toWellFormed()
    .replaceAll(/%(?![0-9a-fA-F]{2})/g, '%25')
    .replaceAll(/[^\w\-.~!$&'()*+,;=:@/%]/gu, (character) => encodeURIComponent(character));
}
