import type { JsonSchema } from '../format/format.ts';

/*
 * Values and formats that every model API accepts. Gemini refuses an `enum` of anything but texts with characters, and
 * the formats of texts except one. One such schema fails its whole list of tools.
 */

const FORMATS: { [type: string]: readonly string[] } = {
  string: ['date-time'],
  integer: ['int32', 'int64'],
  number: ['float', 'double'],
};
/** Formats whose names do not say how they are written. */
const WRITTEN: { [format: string]: string } = { date: 'YYYY-MM-DD', time: 'hh:mm:ssZ' };

/**
 * Returns a schema of one type whose other values and formats are in its description. A description that names them
 * already stays as it is.
 */
export function withAcceptedValues(schema: JsonSchema): JsonSchema {
  const { enum: values, format, ...rest } = schema;
  const accepted: JsonSchema = { ...rest };
  const words: string[] = [];
  if (typeof format === 'string') {
    if (FORMATS[String(schema['type'])]?.includes(format)) accepted['format'] = format;
    else words.push(...formatWords(format, schema));
  }
  if (Array.isArray(values)) {
    const texts = values.filter((value) => typeof value === 'string' && value !== '');
    const others = values.filter((value) => !texts.includes(value) && !isImplied(value, schema));
    const isTyped = schema['type'] === 'string' || (schema['type'] === undefined && others.length === 0);
    if (texts.length > 0 && isTyped) {
      Object.assign(accepted, { type: 'string', enum: texts });
      if (others.length > 0) words.push(...listWords('Or', others, schema));
    } else words.push(...listWords(values.length === 1 ? 'Always' : 'One of', values, schema));
  }
  if (words.length === 0) return accepted;
  const description = [schema['description'], ...words].filter((text) => text !== undefined && text !== '');
  return { ...accepted, description: description.join(' ') };
}

/** Returns whether the type of a schema excludes a value, such as null of a list that names it for answers. */
function isImplied(value: unknown, { type }: JsonSchema): boolean {
  return value === null && type !== 'null';
}

function formatWords(format: string, { description }: JsonSchema): string[] {
  const written = WRITTEN[format] ?? format;
  const text = String(description ?? '').toLowerCase();
  return text.includes(written.toLowerCase()) ? [] : [`Format: ${written}.`];
}

function listWords(word: string, values: readonly unknown[], { type, description }: JsonSchema): string[] {
  if (type === 'boolean' && values.includes(true) && values.includes(false)) return [];
  const named = new Set(String(description ?? '').match(/[\w.+-]*\w/g));
  if (values.every((value) => named.has(String(value)))) return [];
  return [`${word}: ${values.map((value) => JSON.stringify(value)).join(', ')}.`];
}
