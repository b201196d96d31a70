import { isStreamed } from '../../src/outbound/outbound-dispatch.ts';
import type { BuiltRequest } from '../../src/upstream/request.ts';
import { isObject, itemsOf, type At, type Original } from './original.ts';

/* Decides whether a request is valid by the operation of the original document that it calls. */

/** Stands for each parameter of a path. */
export const PARAMETER = '()';
const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete'];

export interface Judged {
  method: string;
  path: string;
  item: At;
  node: At;
}

/** Returns the operations of a document by method and path, with PARAMETER for each parameter. */
export function operationsOf(original: Original): Map<string, Judged[]> {
  const paths = original.at(original.root, 'paths');
  const found = new Map<string, Judged[]>();
  for (const path of Object.keys(Object(paths.value))) {
    const item = original.follow(original.at(paths, path));
    for (const method of METHODS) {
      const node = original.follow(original.at(item, method));
      if (node.value === undefined) continue;
      const plain = path.split(/[?#]/)[0] ?? '';
      const key = `${method.toUpperCase()} ${encodeURI(decodeURI(plain.replaceAll(/\{[^{}]*\}/g, PARAMETER)))}`;
      found.set(key, [...(found.get(key) ?? []), { method, path, item, node }]);
    }
  }
  return found;
}

/** Returns the first fault of a request; undefined where the document allows it. `ignored`: names of query parameters. */
export function faultOf(
  original: Original,
  { item, node, path }: Judged,
  { request, basePath, ignored }: { request: BuiltRequest; basePath: string; ignored: ReadonlySet<string> },
): string | undefined {
  const url = new URL(request.url);
  const parameters = new Map<string, At>();
  for (const list of [original.at(item, 'parameters'), original.at(node, 'parameters')])
    for (const entry of itemsOf(list)) {
      const parameter = original.follow(entry);
      parameters.set(`${read(parameter, 'in')} ${read(parameter, 'name')}`, parameter);
    }
  const rest = url.pathname.slice(basePath.length);
  const inPath = pathValues(path, rest);
  if (!inPath) return `the path ${rest} does not fit ${path}`;
  const pairs = [...url.searchParams];
  for (const parameter of parameters.values()) {
    const fault = parameterFault(original, parameter, { inPath, pairs, ignored, headers: request.headers });
    if (fault !== undefined) return fault;
  }
  const unknown = pairs.filter(
    ([name]) =>
      !isDeclared(original, [...parameters.values()], name) &&
      !ignored.has(name) &&
      !path.includes(`${name}=`),
  );
  if (unknown.length > 0) return `unknown in the query: ${JSON.stringify(unknown)}`;
  return bodyFault(original, { node, parameters: [...parameters.values()] }, request);
}

interface Given {
  inPath: Map<string, string>;
  pairs: [string, string][];
  ignored: ReadonlySet<string>;
  headers: Record<string, string>;
}

function parameterFault(
  original: Original,
  parameter: At,
  { inPath, pairs, ignored, headers }: Given,
): string | undefined {
  const [name, place] = [read(parameter, 'name'), read(parameter, 'in')];
  if (place === 'query' && !ignored.has(name)) {
    const values = queryValues(original, parameter, pairs);
    if (values === undefined)
      return parameter.value && Object(parameter.value).required === true ? `${name} is missing` : undefined;
    return fitsAny(original, schemaOf(original, parameter), values) ? undefined : original.errors();
  }
  if (place === 'path') {
    const text = inPath.get(name);
    if (text === undefined) return undefined;
    return fitsAny(original, schemaOf(original, parameter), [text, text.split(',')])
      ? undefined
      : original.errors();
  }
  if (place === 'header') {
    const header = name.toLowerCase();
    if (['accept', 'content-type', 'authorization'].includes(header) || ignored.has(name)) return undefined;
    const text = headers[header];
    if (text === undefined)
      return Object(parameter.value).required === true && header !== 'idempotency-key'
        ? `the header ${name} is missing`
        : undefined;
    return fitsAny(original, schemaOf(original, parameter), [text, text.split(',')])
      ? undefined
      : original.errors();
  }
  return undefined;
}

function schemaOf(original: Original, parameter: At): At {
  if (original.isSwagger2) return parameter;
  const content = original.at(parameter, 'content');
  const [type] = Object.keys(Object(content.value));
  return type === undefined ? original.at(parameter, 'schema') : original.at(content, type, 'schema');
}

/** Returns what the query may mean for a parameter; undefined where it is absent. */
function queryValues(original: Original, parameter: At, pairs: [string, string][]): unknown[] | undefined {
  const name = read(parameter, 'name');
  const own = pairs.filter(([key]) => key === name).map(([, text]) => text);
  const nested = pairs.filter(([key]) => key.startsWith(`${name}[`));
  if (nested.length > 0) return [nestedValue(nested.map(([key, text]) => [key.slice(name.length), text]))];
  if (own.length === 0) return membersOf(original, parameter, pairs);
  const [first = ''] = own;
  return [first, own, ...[',', ' ', '|'].map((mark) => first.split(mark)), json(first)];
}

/** An object of the style `form` with `explode` is its members. */
function membersOf(original: Original, parameter: At, pairs: [string, string][]): unknown[] | undefined {
  const schema = original.follow(schemaOf(original, parameter));
  const properties = Object(Object(schema.value).properties);
  const own = pairs.filter(([name]) => Object.hasOwn(properties, name));
  return own.length === 0 ? undefined : [Object.fromEntries(own)];
}

function isDeclared(original: Original, parameters: At[], name: string): boolean {
  const plain = name.split('[')[0] ?? '';
  return parameters.some((parameter) => {
    const own = read(parameter, 'name');
    if (read(parameter, 'in') !== 'query') return false;
    return (
      own === name ||
      own === plain ||
      membersOf(original, parameter, [[name, '']]) !== undefined ||
      (own.startsWith(plain) && own.includes('['))
    );
  });
}

function bodyFault(
  original: Original,
  { node, parameters }: { node: At; parameters: At[] },
  request: BuiltRequest,
): string | undefined {
  const text =
    request.body === undefined || isStreamed(request.body)
      ? undefined
      : Buffer.from(request.body).toString('utf8');
  const type = request.headers['content-type']?.split(';')[0] ?? '';
  if (original.isSwagger2) {
    const body = parameters.find((one) => read(one, 'in') === 'body');
    if (body)
      return text === undefined
        ? undefined
        : fitted(original, original.at(body, 'schema'), [json(text), text]);
    const pairs = text === undefined ? [] : formPairs(type, text);
    for (const parameter of parameters.filter((one) => read(one, 'in') === 'formData')) {
      const values = queryValues(original, parameter, pairs);
      if (values && !fitsAny(original, parameter, values)) return original.errors();
      if (!values && Object(parameter.value).required === true)
        return `${read(parameter, 'name')} is missing in the form`;
    }
    return undefined;
  }
  const content = original.at(original.follow(original.at(node, 'requestBody')), 'content');
  if (text === undefined) return undefined;
  const known = Object.keys(Object(content.value));
  const name =
    known.find((one) => one.split(';')[0]?.trim() === type) ?? known.find((one) => one.includes('*'));
  if (name === undefined)
    return known.length === 0 ? undefined : `sends ${type}, not one of ${known.join(', ')}`;
  const schema = original.at(original.follow(original.at(content, name)), 'schema');
  if (type.includes('json')) return fitted(original, schema, [json(text)]);
  if (type === 'text/plain') return undefined;
  return fitted(original, schema, [formValue(formPairs(type, text))]);
}

function formPairs(type: string, text: string): [string, string][] {
  if (type !== 'multipart/form-data') return [...new URLSearchParams(text)];
  return [...text.matchAll(/name="([^"]*)"\r\n\r\n([\s\S]*?)\r\n--/g)].map(([, name = '', value = '']) => [
    decodeURIComponent(name),
    value,
  ]);
}

function formValue(pairs: [string, string][]): unknown {
  const names = [...new Set(pairs.map(([name]) => name.split('[')[0] ?? ''))];
  return Object.fromEntries(
    names.map((name) => {
      const own = pairs.filter(([key]) => key === name || key.startsWith(`${name}[`));
      const plain = own.filter(([key]) => key === name).map(([, value]) => value);
      if (plain.length === 1) return [name, plain[0]];
      if (plain.length > 1) return [name, plain];
      return [name, nestedValue(own.map(([key, value]) => [key.slice(name.length), value]))];
    }),
  );
}

/** `[a][b]`, `[]` and `[0]` after a name, as an object or a list. */
function nestedValue(pairs: [string, string][]): unknown {
  if (pairs.length === 1 && pairs[0]?.[0] === '') return pairs[0][1];
  const groups = new Map<string, [string, string][]>();
  for (const [index, [key, value]] of pairs.entries()) {
    const end = key.indexOf(']');
    const name = key.slice(1, end) || String(index);
    groups.set(name, [...(groups.get(name) ?? []), [key.slice(end + 1), value]]);
  }
  const isList = pairs.every(([key]) => /^\[\d*\]/.test(key));
  const entries = [...groups].map(([name, own]): [string, unknown] => [name, nestedValue(own)]);
  return isList ? entries.map(([, value]) => value) : Object.fromEntries(entries);
}

function fitted(original: Original, schema: At, values: unknown[]): string | undefined {
  return fitsAny(original, schema, values) ? undefined : original.errors();
}

function fitsAny(original: Original, schema: At, values: unknown[]): boolean {
  return values.some((value) => original.fits(schema, value) || original.fits(schema, parsed(value)));
}

/** Returns the value with texts of JSON inside of it read. */
function parsed(value: unknown): unknown {
  if (typeof value === 'string') return /^[[{]/.test(value) ? (json(value) ?? value) : value;
  if (Array.isArray(value)) return value.map(parsed);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, parsed(one)]));
}

function pathValues(template: string, path: string): Map<string, string> | undefined {
  const names = [...template.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? '');
  const plain = template.split(/[?#]/)[0] ?? '';
  const pattern = plain
    .split(/\{[^{}]*\}/)
    .map((part) => encodeURI(part).replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    .join('(.+?)');
  const found = RegExp(`^${pattern}$`).exec(path);
  return found
    ? new Map(names.map((name, index) => [name, decodeURIComponent(found[index + 1] ?? '')]))
    : undefined;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function read({ value }: At, name: string): string {
  return String(Object(value)[name]);
}
