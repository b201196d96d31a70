import { readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { parse } from 'yaml';
import { FOLDER } from './public-documents.ts';

/*
 * The original document as the judge of requests. It shares no code with the import: references are followed here, and
 * Ajv checks values against the document's own schemas.
 */

/** A value of the document with its place. */
export interface At {
  value: unknown;
  file: string;
  pointer: string;
}

export interface Original {
  isSwagger2: boolean;
  root: At;
  at(node: At, ...names: (string | number)[]): At;
  follow(node: At): At;
  /** Returns whether a value fits the schema of a node. */
  fits(schema: At, value: unknown): boolean;
  errors(): string;
}

export function openOriginal(document: string): Original {
  const folder = dirname(join(FOLDER, document));
  const files = new Map<string, unknown>();
  const main = posix.basename(document);
  // A wire holds texts, so a value fits as it is, or with its texts read as numbers and booleans.
  const [exact, reading] = [ajvWith(false), ajvWith(true)];

  function read(file: string): unknown {
    const known = files.get(file);
    if (known !== undefined) return known;
    const text = readFileSync(join(folder, file), 'utf8');
    const value: unknown = file.endsWith('.json') ? JSON.parse(text) : parse(text);
    files.set(file, value);
    const whole = isObject(value) && Object.hasOwn(value, 'openapi') ? value : undefined;
    const resolve = (ref: string) => followRef({ value, file, pointer: '' }, ref).value;
    const isOld = !String(whole?.['openapi'] ?? '3.0').startsWith('3.1');
    for (const ajv of [exact, reading])
      ajv.addSchema({ $id: `doc:/${file}`, content: judged(value, { isOld, resolve }) });
    return value;
  }

  function followRef(from: At, ref: string): At {
    const [path = '', pointer = ''] = ref.split('#');
    const file = path === '' ? from.file : posix.join(posix.dirname(from.file), path);
    let found: At = { value: files.get(file) ?? read(file), file, pointer: '' };
    for (const part of pointer.split('/').slice(1))
      found = at(found, decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'));
    return found;
  }

  function follow(node: At): At {
    let now = node;
    for (let hops = 0; hops < 50 && isObject(now.value) && typeof now.value['$ref'] === 'string'; hops++)
      now = followRef(now, now.value['$ref']);
    return now;
  }

  /** Compiles a schema; files that it refers to are read when Ajv misses them. */
  function compile(ajv: Ajv2020, schema: object): ValidateFunction {
    for (;;) {
      try {
        return ajv.compile(schema);
      } catch (error) {
        const missing = /^doc:\/(.+)$/.exec(String(Object(error).missingSchema))?.[1];
        if (missing === undefined || files.has(missing)) throw error;
        ajv.removeSchema(schema);
        read(missing);
      }
    }
  }

  const compiled = new Map<string, ValidateFunction>();
  function validatorOf(ajv: Ajv2020, { file, pointer }: At): ValidateFunction {
    const place = `doc:/${file}#/content${encodeURI(pointer)}`;
    const key = `${ajv === exact} ${place}`;
    const validate =
      compiled.get(key) ?? compile(ajv, { type: 'object', properties: { value: { $ref: place } } });
    compiled.set(key, validate);
    return validate;
  }

  let last = '';
  return {
    isSwagger2: isObject(read(main)) && Object(read(main))['swagger'] !== undefined,
    root: { value: read(main), file: main, pointer: '' },
    at,
    follow,
    fits(schema, value) {
      if (schema.value === undefined) return true;
      const validate = validatorOf(exact, schema);
      if (validate({ value })) return true;
      const faults = JSON.stringify(validate.errors?.slice(0, 3));
      last = `${schema.file}#${schema.pointer}: ${faults} for ${JSON.stringify(value)}`;
      const reads = validatorOf(reading, schema);
      const isRead = reads({ value: structuredClone(value) });
      if (!isRead) last += ` or ${JSON.stringify(reads.errors?.slice(0, 3))}`;
      return isRead;
    },
    errors: () => last,
  };
}

function ajvWith(coerceTypes: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    coerceTypes,
    unicodeRegExp: false,
    inlineRefs: false,
    logger: false,
  });
  formats.default(ajv);
  return ajv;
}

function at(node: At, ...names: (string | number)[]): At {
  let now = node;
  for (const name of names) {
    const { value, pointer } = now;
    const member =
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? Reflect.get(value, name)
        : undefined;
    now = {
      ...now,
      value: member,
      pointer: `${pointer}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`,
    };
  }
  return now;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function itemsOf(node: At): At[] {
  return Array.isArray(node.value) ? node.value.map((_, index) => at(node, index)) : [];
}

/** Returns a copy with the schemas of OpenAPI 2.0 and 3.0 as JSON Schema, for requests: without what the app sets. */
function judged(value: unknown, how: { isOld: boolean; resolve: (ref: string) => unknown }): unknown {
  if (Array.isArray(value)) return value.map((item) => judged(item, how));
  if (!isObject(value)) return value;
  const { $ref: ref } = value;
  if (typeof ref === 'string') {
    const moved = { $ref: ref.includes('#') ? ref.replace('#', '#/content') : `${ref}#/content` };
    if (how.isOld) return moved;
    const { $ref: _, ...beside } = value;
    return { ...Object(judged(beside, how)), ...moved };
  }
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    if (
      ['example', 'examples', 'discriminator', '$schema', '$id', 'id'].includes(name) &&
      typeof member !== 'object'
    )
      continue;
    if (name === 'required' && !Array.isArray(member) && !isObject(member)) continue;
    if (name === 'pattern' && typeof member === 'string' && !isPattern(member)) continue;
    if (name === 'format' && typeof member === 'string' && !KNOWN.has(member)) continue;
    if (name !== 'nullable' || isObject(member)) copy[name] = judged(member, how);
  }
  const { properties, required, type, enum: values } = copy;
  // YAML without quotes makes numbers of texts. Such a list would take no value.
  if (type === 'string' && Array.isArray(values) && values.every((one) => typeof one === 'number'))
    copy['enum'] = values.map(String);
  if (Array.isArray(required) && isObject(properties))
    copy['required'] = required.filter((name) => !isReadOnly(Object(value['properties'])[String(name)], how));
  if (how.isOld) {
    if ((value['nullable'] === true || value['x-nullable'] === true) && typeof type === 'string')
      copy['type'] = [type, 'null'];
    for (const [flag, bound] of [
      ['exclusiveMinimum', 'minimum'],
      ['exclusiveMaximum', 'maximum'],
    ] as const) {
      if (typeof value[flag] !== 'boolean') continue;
      delete copy[flag];
      if (value[flag] && value[bound] !== undefined) {
        copy[flag] = value[bound];
        delete copy[bound];
      }
    }
  }
  if (type === 'file' || (typeof type === 'string' && !TYPES.has(type))) delete copy['type'];
  return copy;
}

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const KNOWN = new Set(['date', 'time', 'date-time', 'uri', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']);

function isReadOnly(member: unknown, { resolve }: { resolve: (ref: string) => unknown }): boolean {
  if (!isObject(member)) return false;
  if (member['readOnly'] === true) return true;
  const target = typeof member['$ref'] === 'string' ? resolve(member['$ref']) : undefined;
  return isObject(target) && target['readOnly'] === true;
}

function isPattern(text: string): boolean {
  try {
    return RegExp(text) !== undefined;
  } catch {
    return false;
  }
}
