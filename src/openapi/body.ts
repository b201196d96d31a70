import type { JsonSchema } from '../connectors/format.ts';
import type { Import, Written } from './context.ts';
import { fieldNameOf, freeName } from './names.ts';
import { entriesOf, LeftOut, memberOf, placeOf, type Node } from './node.ts';
import { objectMembers, type BodyMember } from './body-members.ts';
import type { Operation } from './operation.ts';
import { asParameter } from './parameters.ts';
import { formStyle } from './parameter-style.ts';
import { plainText } from './texts.ts';
import { isBinary, typeIn } from './types.ts';

type BodyType = 'json' | 'form' | 'multipart' | 'text';

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
  const source = context.isSwagger2 ? swagger2Source(operation) : openApi3Source(context, operation);
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
  if (type !== 'json' && nodes.some((node) => isBinary(context.documents, node))) {
    if (required) throw new LeftOut(`it uploads a file as ${name}, which connectors cannot send yet`);
    context.reporter.approximate(placeOf(first), `the file ${name} is missing`);
    return undefined;
  }
  const schemas = nodes.map((node) => context.book.convert(node, 'input'));
  const schema: JsonSchema = schemas.length === 1 ? (schemas[0] ?? {}) : { allOf: schemas };
  const style = type === 'json' ? undefined : formStyle(context, first, memberOf(encoding ?? NOTHING, name));
  return { ...asParameter(schema, required), ...(style === undefined ? {} : { style }) };
}

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
  throw new LeftOut(
    `it sends ${content.map(([mediaType]) => mediaType).join(', ')}, which connectors cannot send yet`,
  );
}

function swagger2Source({ parameters, consumes }: Operation): Source | undefined {
  const form = parameters.filter((one) => one.in === 'formData');
  const body = parameters.find((one) => one.in === 'body');
  if (body) {
    const mediaType = consumes.find((one) => bodyTypeOf(one) === 'json') ?? consumes[0] ?? 'application/json';
    const type = bodyTypeOf(mediaType);
    if (type === undefined) throw new LeftOut(`it sends ${mediaType}, which connectors cannot send yet`);
    const required = memberOf(body.node, 'required').value === true;
    return {
      type: type === 'text' ? 'text' : 'json',
      mediaType: type === 'json' ? mediaType : 'application/json',
      required,
      schema: memberOf(body.node, 'schema'),
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

function bodyTypeOf(mediaType: string): BodyType | undefined {
  const type = mediaType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json' || type === '*/*' || /^[\w.-]+\/[\w.-]+\+json$/.test(type)) return 'json';
  if (type === 'application/x-www-form-urlencoded') return 'form';
  if (type === 'multipart/form-data') return 'multipart';
  return type === 'text/plain' ? 'text' : undefined;
}
