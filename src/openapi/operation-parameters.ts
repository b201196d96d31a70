import type { JsonSchema } from '../connectors/format/format.ts';
import { FRAMING_HEADERS } from '../lib/http/framing-headers.ts';
import type { Import, Written } from './context.ts';
import { fieldNameOf, freeName } from './action-names.ts';
import { entriesOf, isRecord, LeftOut, memberOf, placeOf, type Node } from './node.ts';
import type { Operation, Parameter } from './operation.ts';
import { queryStyle, listStyle } from './parameter-style.ts';
import { plainText } from './plain-text.ts';

const MAX_DESCRIPTION = 500;
/** Header parameters that OpenAPI ignores, because they belong to bodies and security. */
const IGNORED_HEADERS = new Set(['accept', 'content-type', 'authorization']);
const HEADER_NAME = /^[!#$%&'*+^_`|~0-9A-Za-z-]+$/;
export const PLACE_MEMBERS: { [place: string]: string } = {
  path: 'path',
  query: 'query',
  header: 'headers',
  cookie: 'cookies',
};

/** Parameters of an action by place, and the header that marks a repeated call. */
export interface ReadParameters {
  members: Written;
  /** Parameter names of the path by their names in the document. */
  pathNames: Map<string, string>;
  names: Set<string>;
  fixedHeaders: Record<string, string>;
  idempotencyHeader: string | undefined;
}

/**
 * Reads the parameters of an operation. `isCredential` returns whether the credential supplies a parameter. `isList` says
 * that the names `limit` and `offset` are taken by the paging of the action.
 * @throws LeftOut for a required parameter that the format cannot send.
 */
export function readParameters(
  context: Import,
  operation: Operation,
  { isCredential, isList }: { isCredential: (parameter: Parameter) => boolean; isList: boolean },
): ReadParameters {
  const read: ReadParameters = {
    members: {},
    pathNames: new Map(),
    names: new Set(isList ? ['limit', 'offset'] : []),
    fixedHeaders: {},
    idempotencyHeader: undefined,
  };
  const inPath = [...operation.path.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? '');
  const declared = operation.parameters.filter((one) => PLACE_MEMBERS[one.in] !== undefined);
  const order = ['path', 'query', 'header', 'cookie'];
  for (const parameter of declared.sort((a, b) => order.indexOf(a.in) - order.indexOf(b.in))) {
    if (parameter.in === 'path' ? !inPath.includes(parameter.name) : isCredential(parameter)) continue;
    addParameter(context, read, parameter);
  }
  for (const name of inPath.filter((one) => !read.pathNames.has(one))) {
    context.reporter.approximate(placeOf(operation.node), `the path parameter ${name} has no description`);
    addPath(read, name, { type: 'string' });
  }
  return read;
}

function addParameter(context: Import, read: ReadParameters, parameter: Parameter): void {
  const { name, node } = parameter;
  const required = parameter.in === 'path' || memberOf(node, 'required').value === true;
  const loses = (why: string) => {
    const what = `the ${parameter.in} parameter ${name} ${why}`;
    if (required) throw new LeftOut(what);
    context.reporter.approximate(placeOf(node), `${what}, so it is missing`);
  };
  if (parameter.in === 'header') {
    const header = name.toLowerCase();
    if (IGNORED_HEADERS.has(header)) return undefined;
    if (header === 'idempotency-key') {
      read.idempotencyHeader = name;
      return undefined;
    }
    if (FRAMING_HEADERS.includes(header) || header.startsWith('proxy-'))
      return loses('is set by the sender alone');
    if (!HEADER_NAME.test(name)) return loses('has a name that the format cannot send');
  }
  const { schema: source, isJson } = schemaOf(context, node);
  const style = isJson ? 'json' : styleOf(context, parameter, source);
  if (style === null) return loses('has a style that the format cannot send');
  const schema = withDescription(context.book.convert(source, 'input'), node);
  const only = onlyHeader(parameter, schema);
  if (only !== undefined) read.fixedHeaders[name] = only;
  else add(read, parameter, { schema, style, required, hasSlashes: takesSlashes(node, schema) });
  return undefined;
}

interface Sent {
  schema: JsonSchema;
  style: string | undefined;
  required: boolean;
  hasSlashes: boolean;
}

/** Returns whether a path parameter may have several segments, such as the path of a file at GitHub. */
function takesSlashes(node: Node, { type }: JsonSchema): boolean {
  return type === 'string' && memberOf(node, 'x-multi-segment').value === true;
}

function add(
  read: ReadParameters,
  { name, in: place }: Parameter,
  { schema, style, required, hasSlashes }: Sent,
): void {
  const member = asParameter(schema, required && place !== 'path');
  if (style !== undefined) member['style'] = style;
  if (place === 'path') {
    addPath(read, name, hasSlashes ? { ...member, slashes: true } : member);
    return;
  }
  const own = freeName(fieldNameOf(name), place, read.names);
  const plain =
    place === 'header' ? own.replaceAll('_', '-').toLowerCase() === name.toLowerCase() : own === name;
  if (!plain) member['as'] = name;
  insert(read, own, { place: PLACE_MEMBERS[place] ?? place, member });
}

function addPath(read: ReadParameters, name: string, member: Written): void {
  const own = freeName(fieldNameOf(name), 'path', read.names);
  read.pathNames.set(name, own);
  insert(read, own, { place: 'path', member });
}

function insert(
  { members, names }: ReadParameters,
  name: string,
  { place, member }: { place: string; member: Written },
): void {
  names.add(name);
  members[place] = { ...(isRecord(members[place]) ? members[place] : {}), [name]: member };
}

/** Returns the schema of a parameter: in OpenAPI 3 of its `schema` or `content`, in Swagger 2.0 the parameter itself. */
function schemaOf({ documents, isSwagger2 }: Import, node: Node): { schema: Node; isJson: boolean } {
  if (isSwagger2) return { schema: node, isJson: false };
  const [content] = entriesOf(memberOf(node, 'content'));
  if (!content) return { schema: memberOf(node, 'schema'), isJson: false };
  const [mediaType, media] = content;
  if (!/json/i.test(mediaType)) throw new LeftOut(`${placeOf(node)} is written as ${mediaType}`);
  return { schema: memberOf(documents.follow(media), 'schema'), isJson: true };
}

function styleOf(context: Import, parameter: Parameter, schema: Node): string | undefined | null {
  if (parameter.in === 'query') return queryStyle(context, parameter.node, schema);
  return listStyle(context, parameter, schema);
}

function withDescription(schema: JsonSchema, node: Node): JsonSchema {
  const description = plainText(memberOf(node, 'description').value, MAX_DESCRIPTION);
  return description === undefined ? schema : { ...schema, description };
}

/** Returns the value of a header that has only one possible value, such as the version of the app's API. */
function onlyHeader({ name, in: place }: Parameter, { enum: values, default: value }: JsonSchema) {
  if (place !== 'header') return undefined;
  const only = Array.isArray(values) && values.length === 1 ? values[0] : undefined;
  const version = /version/i.test(name) ? value : undefined;
  const found = only ?? version;
  return typeof found === 'string' && /^[\x20-\x7e]+$/.test(found) && !/[{}]/.test(found) ? found : undefined;
}

/** Returns a schema as a parameter of the connector format, in which `required: true` marks a required parameter. */
export function asParameter(schema: JsonSchema, required: boolean): Written {
  const typed = ['type', '$ref', 'enum', 'const', 'anyOf', 'oneOf'].some(
    (keyword) => schema[keyword] !== undefined,
  );
  const { allOf } = schema;
  const known: JsonSchema = typed
    ? schema
    : Array.isArray(allOf)
      ? { ...schema, anyOf: [{}] }
      : { ...schema, ...ANY };
  if (!required) return { ...known };
  if (known['required'] === undefined) return { ...known, required: true };
  // `required` of a parameter has one meaning, so the list of its members moves one level down.
  const { description, ...rest } = known;
  return {
    type: known['type'] ?? 'object',
    allOf: [rest],
    ...(description === undefined ? {} : { description }),
    required: true,
  };
}

const ANY = { type: ['object', 'array', 'string', 'number', 'boolean'] };
