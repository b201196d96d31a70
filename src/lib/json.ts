/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How deep JSON from outside may nest (arrays and objects); deeper text is refused before it is walked. */
export const MAX_JSON_DEPTH = 64;

/**
 * JSON.parse for text from outside. Throws SyntaxError when the text is not JSON, and RangeError when it nests
 * deeper than MAX_JSON_DEPTH. A member called `__proto__` is dropped, so that no later merge can reach a prototype.
 */
export function parseJson(text: string): Json {
  assertDepth(text);
  const value: Json = JSON.parse(text);
  return text.includes('__proto__') ? dropProto(value) : value;
}

/** Counts brackets outside strings; linear, and it runs before JSON.parse so that depth never reaches the stack. */
function assertDepth(text: string): void {
  if (!mayBeDeep(text)) return;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (inString) {
      if (c === 0x5c) i++;
      else if (c === 0x22) inString = false;
    } else if (c === 0x22) inString = true;
    else if (c === 0x5b || c === 0x7b) {
      if (++depth > MAX_JSON_DEPTH) throw new RangeError(`JSON nests deeper than ${MAX_JSON_DEPTH} levels`);
    } else if (c === 0x5d || c === 0x7d) depth--;
  }
}

/** Text with few closing brackets nests no deeper than that, or is no JSON at all: most requests end here. */
function mayBeDeep(text: string): boolean {
  let count = 0;
  for (const bracket of ['}', ']']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++count > MAX_JSON_DEPTH) return true;
    }
  }
  return false;
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

/** JSON text with object members in sorted order: equal values give equal text, for hashes and keys. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`);
  return `{${members.join(',')}}`;
}

/** The value at a dotted path (`data.items.0.id`), or undefined. The empty path is the value itself. */
export function valueAt(value: Json | undefined, path: string): Json | undefined {
  if (path === '') return value;
  let at: Json | undefined = value;
  for (const part of path.split('.')) {
    if (Array.isArray(at)) at = at[Number(part)];
    else if (isJsonObject(at) && Object.hasOwn(at, part)) at = at[part];
    else return undefined;
  }
  return at;
}
