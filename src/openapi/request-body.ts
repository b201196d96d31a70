import { mediaType as MEDIA_TYPE } from '../connectors/format/format-parts.ts';
import type { JsonSchema } from '../connectors/format/format.ts';
import type { Import, Written } from './context.ts';
import type { Documents } from './documents.ts';
import { fieldNameOf, freeName } from './action-names.ts';
import { isRecord, entriesOf, LeftOut, memberOf, placeOf, type Node } from './node.ts';
import { objectMembers, type BodyMember } from './body-members.ts';
import type { Operation } from './operation.ts';
import { asParameter } from './operation-parameters.ts';
import { formStyle } from './parameter-style.ts';
import { plainText } from './plain-text.ts';
import { isBinary, typeIn } from './types.ts';

type BodyType = 'json' | 'form' | 'multipart' | 'text' | 'binary';

/** The body of an operation: its media type and where its schema is. */
interface Source {
  type: BodyType;
  mediaType: string;
  required: boolean;
  /** A schema, or the members of a form of Swagger 2.0. */
  schema: Node | BodyMember[];
  encoding: Node | undefined;
}

/**
 * Returns the members `body`, `bodyType` and the header of a special media type.
 * @throws LeftOut for bodies that the format cannot send.
 */
export function readBody(context: Import, operation: Operation, names: Set<string>): Written {
  const source = context.isSwagger2 ? swagger2Source(context, operation) : openApi3Source(context, operation);
  if (!source) return {};
  if (operation.method === 'GET' || operation.method === 'HEAD') {
    if (source.required) throw new LeftOut(`a ${operation.method} request has no body here`);
    context.reporter.approximate(
      placeOf(operation.node),
      `the body of a ${operation.method} request is missing`,
    );
    return {};
  }
  const written = bodyOf(context, source, names);
  const special = source.type === 'json' && !/^application\/json\s*(;|$)/i.test(source.mediaType);
  return special ? { ...written, fixed: { headers: { 'Content-Type': source.mediaType } } } : written;
}

function bodyOf(context: Import, source: Source, names: Set<string>): Written {
  const { type, schema } = source;
  const bodyType = type === 'json' ? {} : { bodyType: type };
  if (type === 'text') {
    const text = { type: 'string', description: 'Content of the request.' };
    return { ...bodyType, body: { [freeName('text', 'body', names)]: asParameter(text, source.required) } };
  }
  if (type === 'binary') {
    const nodes = Array.isArray(schema) ? [] : [schema];
    const content = binaryParameter(context, nodes, {
      required: source.required,
      mediaType: source.mediaType,
    });
    return { ...bodyType, body: { [freeName('content', 'body', names)]: content } };
  }
  const members = Array.isArray(schema) ? schema : objectMembers(context, schema, type);
  if (!members) return { ...bodyType, body: wholeBody(context, source, names) };
  const body: Record<string, Written> = {};
  for (const member of members) {
    const written = memberOfBody(context, source, member);
    if (!written) continue;
    const name = freeName(fieldNameOf(member.name), 'body', names);
    names.add(name);
    body[name] = name === member.name ? written : { ...written, as: member.name };
  }
  return Object.keys(body).length === 0 && type === 'multipart' ? {} : { ...bodyType, body };
}

function memberOfBody(context: Import, { type, encoding }: Source, member: BodyMember): Written | undefined {
  const { nodes, name, required } = member;
  const [first] = nodes;
  if (!first) return undefined;
  const isBase64 = type === 'json' && nodes.some((node) => isBytesAsText(context.documents, node));
  if (isBase64) return binaryParameter(context, nodes, { required, mediaType: undefined });
  const isFile = type !== 'json' && nodes.some((node) => isBinary(context.documents, node));
  if (isFile && type === 'multipart') {
    const mediaType = memberOf(memberOf(encoding ?? NOTHING, name), 'contentType').value;
    return binaryParameter(context, nodes, { required, mediaType });
  }
  if (isFile) {
    if (required) throw new LeftOut(`it sends a file as ${name} in a form, which no form can hold`);
    context.reporter.approximate(placeOf(first), `the file ${name} is missing`);
    return undefined;
  }
  const schemas = nodes.map((node) => context.book.convert(node, 'input'));
  const schema: JsonSchema = schemas.length === 1 ? (schemas[0] ?? {}) : { allOf: schemas };
  const style = type === 'json' ? undefined : formStyle(context, first, memberOf(encoding ?? NOTHING, name));
  return { ...asParameter(schema, required), ...(style === undefined ? {} : { style }) };
}

/** Returns whether a member of a JSON body is a content in base64: `format: byte`, or `contentEncoding` of OpenAPI 3.1. */
function isBytesAsText(documents: Documents, node: Node): boolean {
  const value = followed(documents, node);
  if (!isRecord(value) || value['enum'] !== undefined || value['const'] !== undefined) return false;
  const { type, format, contentEncoding } = value;
  return type === 'string' && (format === 'byte' || contentEncoding === 'base64');
}

/** Returns what a reference leads to; undefined where it leads nowhere, which readers of the schema report. */
function followed(documents: Documents, node: Node): unknown {
  try {
    return documents.follow(node).value;
  } catch (error) {
    if (error instanceof LeftOut) return undefined;
    throw error;
  }
}

/** Returns the parameter of a file, or of a list of files. A media type with `*` leaves the file its own. */
function binaryParameter(
  { documents }: Import,
  nodes: Node[],
  { required, mediaType }: { required: boolean; mediaType: unknown },
): Written {
  const isList = nodes.some((node) => typeIn(documents, node) === 'array');
  const descriptions = nodes.map((node) =>
    plainText(memberOf(documents.follow(node), 'description').value, 300),
  );
  const description = descriptions.find((text) => text !== undefined) ?? (isList ? 'Files.' : 'The content.');
  const known = MEDIA_TYPE.safeParse(mediaType);
  return {
    description,
    ...(isList ? { type: 'array', items: FILE } : FILE),
    ...(required ? { required: true } : {}),
    ...(known.success && !known.data.includes('*') ? { contentType: known.data } : {}),
  };
}

const FILE = { type: 'string', format: 'binary' };

const NOTHING: Node = { value: undefined, file: '', pointer: '' };

/** Returns the one parameter for a body whose members are not fixed: a list, a choice, or any members. */
function wholeBody(context: Import, { type, schema, required }: Source, names: Set<string>): Written {
  if (Array.isArray(schema)) return {};
  const name = freeName('body', 'request', names);
  names.add(name);
  const description = plainText(memberOf(context.documents.follow(schema), 'description').value, 300);
  const converted = {
    description: description ?? 'The whole body of the request.',
    ...context.book.convert(schema, 'input'),
  };
  if (type === 'json') return { [name]: { ...asParameter(converted, required), whole: true } };
  const isObject = typeIn(context.documents, schema) === 'object';
  if (!isObject) throw new LeftOut('its form has no fixed members');
  return { [name]: { ...asParameter({ type: 'object', allOf: [converted] }, required), spread: true } };
}

function openApi3Source({ documents }: Import, { node }: Operation): Source | undefined {
  const given = memberOf(node, 'requestBody');
  if (given.value === undefined) return undefined;
  const body = documents.follow(given);
  const required = memberOf(body, 'required').value === true;
  const content = entriesOf(memberOf(body, 'content'));
  if (content.length === 0) return undefined;
  for (const type of ['json', 'form', 'multipart', 'text'] as const) {
    const found = content.find(([mediaType]) => bodyTypeOf(mediaType) === type);
    if (!found) continue;
    const [mediaType, entry] = found;
    const media = documents.follow(entry);
    return {
      type,
      mediaType: mediaType.includes('*') ? 'application/json' : mediaType,
      required,
      schema: memberOf(media, 'schema'),
      encoding: memberOf(media, 'encoding'),
    };
  }
  const [binary] = content.flatMap(([mediaType, entry]) => {
    const schema = memberOf(documents.follow(entry), 'schema');
    return isBytes(documents, mediaType, schema) ? [{ mediaType, schema }] : [];
  });
  if (binary) return { type: 'binary', ...binary, required, encoding: undefined };
  throw new LeftOut(
    `it sends ${content.map(([mediaType]) => mediaType).join(', ')}, which connectors cannot send yet`,
  );
}

function swagger2Source({ documents }: Import, { parameters, consumes }: Operation): Source | undefined {
  const form = parameters.filter((one) => one.in === 'formData');
  const body = parameters.find((one) => one.in === 'body');
  if (body) {
    const mediaType = consumes.find((one) => bodyTypeOf(one) === 'json') ?? consumes[0] ?? 'application/json';
    const type = bodyTypeOf(mediaType);
    const required = memberOf(body.node, 'required').value === true;
    const schema = memberOf(body.node, 'schema');
    if (type === undefined && isBytes(documents, mediaType, schema))
      return { type: 'binary', mediaType, required, schema, encoding: undefined };
    if (type === undefined) throw new LeftOut(`it sends ${mediaType}, which connectors cannot send yet`);
    return {
      type: type === 'text' ? 'text' : 'json',
      mediaType: type === 'json' ? mediaType : 'application/json',
      required,
      schema,
      encoding: undefined,
    };
  }
  if (form.length === 0) return undefined;
  const isForm = consumes.length === 0 || consumes.some((one) => bodyTypeOf(one) === 'form');
  const members = form.map(({ name, node }) => ({
    name,
    nodes: [node],
    required: memberOf(node, 'required').value === true,
  }));
  return {
    type: isForm ? 'form' : 'multipart',
    mediaType: '',
    required: true,
    schema: members,
    encoding: undefined,
  };
}

/** Media types of files, whatever their schema says. */
const FILE_TYPES =
  /^(?:image|audio|video|font)\/|^application\/(?:octet-stream|pdf|zip|gzip|x-gzip|x-tar|vnd\.[\w.+-]+)$/i;

/** Returns whether the body of a media type is a file. A structured one, such as XML, is not. */
function isBytes(documents: Documents, mediaType: string, schema: Node): boolean {
  const type = mediaType.split(';')[0]?.trim() ?? '';
  if (/xml|json|yaml/i.test(type)) return false;
  return FILE_TYPES.test(type) || isBinary(documents, schema);
}

function bodyTypeOf(mediaType: string): BodyType | undefined {
  const type = mediaType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json' || type === '*/*' || /^[\w.-]+\/[\w.-]+\+json$/.test(type)) return 'json';
  if (type === 'application/x-www-form-urlencoded') return 'form';
  if (type === 'multipart/form-data') return 'multipart';
  return type === 'text/plain' ? 'text' : undefined;
}
