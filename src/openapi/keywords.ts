import { patternFault } from '../lib/linear-pattern.ts';
import type { JsonSchema } from '../connectors/format/format.ts';
import { isRecord } from './node.ts';

/* The keywords of a schema that stand for themselves: each is copied where its value has the right type. */

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
/** Formats that inputs are checked by; any other only describes. */
const FORMATS = new Set([
  'date',
  'time',
  'date-time',
  'iso-time',
  'iso-date-time',
  'duration',
  'uri',
  'uri-reference',
  'uri-template',
  'url',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'regex',
  'uuid',
  'json-pointer',
  'relative-json-pointer',
  'byte',
  'int32',
  'int64',
  'float',
  'double',
  'password',
]);
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const;
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const;
const MAX_ENUM = 2000;
const MAX_DEFAULT = 200;

const patterns = new Map<string, string | undefined>();
const MAX_PATTERNS = 5000;

/** Returns the plain keywords of a schema. `note` is called with each loss. */
export function plainKeywords(raw: Record<string, unknown>, note: (what: string) => void): JsonSchema {
  const shown: JsonSchema = {};
  const type = typeOf(raw, note);
  if (type !== undefined) shown['type'] = type;
  const { format, pattern, multipleOf, uniqueItems, default: value } = raw;
  if (typeof format === 'string' && FORMATS.has(format)) shown['format'] = format;
  for (const name of NUMBERS) if (typeof raw[name] === 'number') shown[name] = raw[name];
  exclusiveBounds(raw, shown);
  for (const name of COUNTS) if (isCount(raw[name])) shown[name] = raw[name];
  if (typeof multipleOf === 'number' && multipleOf > 0) shown['multipleOf'] = multipleOf;
  if (uniqueItems === true) shown['uniqueItems'] = true;
  if (isScalar(value) && String(value).length <= MAX_DEFAULT) shown['default'] = value;
  if (typeof pattern === 'string') {
    const plain = withoutNeedlessEscapes(pattern);
    const rule = patternRule(plain);
    if (rule === undefined) shown['pattern'] = plain;
    else note(`its pattern is not checked, because it ${rule}`);
  }
  Object.assign(shown, valuesOf(raw, note));
  return shown;
}

function typeOf({ type, properties, items }: Record<string, unknown>, note: (what: string) => void): unknown {
  if (type === 'file') return 'string';
  if (typeof type === 'string' && TYPES.has(type)) return type;
  if (Array.isArray(type)) {
    const known = [...new Set(type)].filter((one) => TYPES.has(one));
    if (known.length > 0) return known.length === 1 ? known[0] : known;
  }
  if (type !== undefined && type !== null) note('its type is none of JSON Schema');
  if (isRecord(properties)) return 'object';
  return isRecord(items) ? 'array' : undefined;
}

/** OpenAPI 2.0 and 3.0 write an exclusive bound as a boolean next to the bound. */
function exclusiveBounds(raw: Record<string, unknown>, shown: JsonSchema): void {
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (raw[flag] !== true || typeof raw[bound] !== 'number') continue;
    shown[flag] = raw[bound];
    delete shown[bound];
  }
}

function valuesOf({ enum: values, const: only }: Record<string, unknown>, note: (what: string) => void) {
  if (isScalar(only)) return { const: only };
  if (!Array.isArray(values)) return {};
  const known = [...new Set(values.filter((value) => isScalar(value) || value === null))];
  if (known.length !== new Set(values).size)
    note('values of its enum that are no texts or numbers are missing');
  if (known.length > MAX_ENUM) {
    note(`its enum has ${known.length} values and is not checked`);
    return {};
  }
  return known.length > 0 ? { enum: known } : {};
}

/** Returns a pattern without escapes such as `\:`, which the flag u of ECMAScript refuses and others ignore. */
function withoutNeedlessEscapes(pattern: string): string {
  return pattern.replaceAll(/\\([\s\S])/g, (pair, character: string) =>
    /[:_"'@#%,;<>=!&~` ]/.test(character) ? character : pair,
  );
}

/** Returns the rule that a pattern breaks. Documents repeat patterns, and compiling one takes a millisecond. */
export function patternRule(pattern: string): string | undefined {
  if (patterns.has(pattern)) return patterns.get(pattern);
  const rule = patternFault(pattern);
  if (patterns.size < MAX_PATTERNS) patterns.set(pattern, rule);
  return rule;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}
