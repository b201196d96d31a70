import { exactReviver, isBeyondDouble } from './exact-numbers.ts';

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/**
 * Returns about how many bytes of memory a value takes. `[]` takes three bytes as text in a list, and a dozen times
 * that in memory.
 */
export function memoryOf(value: Json): number {
  if (typeof value === 'string') return 24 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = 40;
  if (Array.isArray(value)) for (const one of value) bytes += memoryOf(one);
  else for (const one of Object.values(value)) bytes += 16 + memoryOf(one);
  return bytes;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value if it is an object, else an empty object. */
export function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Maximum depth of arrays and objects in JSON from outside; deeper text is refused before it is walked. */
export const MAX_JSON_DEPTH = 64;

/**
 * Parses JSON text from outside, without a byte order mark at its start. Numbers beyond 2^53 become the text of their
 * digits (exact-numbers.ts); with `doubles` they are rounded, as in documents with schemas. A member called `__proto__` is dropped, so that no later merge can reach a prototype.
 * @throws SyntaxError when the text is not JSON, RangeError when it nests deeper than MAX_JSON_DEPTH.
 */
export function parseJson(text: string, maxDepth = MAX_JSON_DEPTH, { doubles = false } = {}): Json {
  const plain = text.startsWith('\ufeff') ? text.slice(1) : text;
  // V8 parses without recursion, so any depth passes here. The check protects the later walks.
  const value: Json = JSON.parse(plain);
  // A reviver takes six times as long, so only a text with such a number gets it.
  const exact = losesDigits(value, maxDepth) && !doubles ? exactly(plain) : value;
  return text.includes('__proto__') ? dropProto(exact) : exact;
}

/** Returns whether a value has a number beyond 2^53. @throws RangeError for too many levels. */
function losesDigits(value: Json, left: number): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'number' && isBeyondDouble(value);
  if (left === 0) throw new RangeError(`JSON nests deeper than ${MAX_JSON_DEPTH} levels`);
  let loses = false;
  if (Array.isArray(value)) {
    for (const item of value) if (losesDigits(item, left - 1)) loses = true;
  } else {
    for (const key in value) if (losesDigits(value[key] ?? null, left - 1)) loses = true;
  }
  return loses;
}

function exactly(text: string): Json {
  const value: Json = JSON.parse(text, exactReviver);
  return value;
}

function dropProto(value: Json): Json {
  if (Array.isArray(value)) return value.map(dropProto);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== '__proto__')
      .map(([key, member]) => [key, dropProto(member)]),
  );
}

/** Returns JSON text with escapes for all characters beyond ASCII, as headers and one-byte strings need it. */
export function asciiJson(text: string): string {
  return text.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Returns JSON text with object members in sorted order. Equal values give equal text, for hashes and keys. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => [name, canonicalJson(member ?? null)]);
  return canonicalObject(Object.fromEntries(members));
}

/** Returns the canonical text of an object whose members are such texts. */
export function canonicalObject(texts: { readonly [name: string]: string }): string {
  const members = Object.keys(texts)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${texts[name]}`);
  return `{${members.join(',')}}`;
}

/** Returns the parts of a value at `paths`, at the same paths; the whole value when a path is empty. */
export function partsAt(value: Json, paths: readonly string[]): Json {
  if (paths.includes('')) return value;
  const parts: JsonObject = {};
  for (const path of paths) {
    const found = valueAt(value, path);
    if (found === undefined) continue;
    const names = namesIn(path);
    const last = names.pop() ?? '';
    let at = parts;
    for (const name of names) {
      const next = isJsonObject(at[name]) ? at[name] : {};
      at[name] = next;
      at = next;
    }
    at[last] = found;
  }
  return parts;
}

/**
 * Returns the value at a dotted path (`data.items.0.id`), or undefined. The empty path is the value itself. A dot that
 * belongs to a name is written `\\.`.
 */
export function valueAt(value: Json | undefined, path: string): Json | undefined {
  if (path === '') return value;
  let at: Json | undefined = value;
  for (const part of namesIn(path)) {
    if (Array.isArray(at)) at = at[Number(part)];
    else if (isJsonObject(at) && Object.hasOwn(at, part)) at = at[part];
    else return undefined;
  }
  return at;
}

function namesIn(path: string): string[] {
  return path.includes('\\')
    ? path.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'))
    : path.split('.');
}

/** Returns a value as JSON would read it back; null for undefined. */
export function asJson(value: unknown): Json {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}
