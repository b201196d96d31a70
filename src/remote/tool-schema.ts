import { schemaPatternFaults } from '../connectors/patterns.ts';
import { withAllTypedValues } from '../connectors/schemas/typed-values.ts';
import { schemaFaults } from '../connectors/schemas/validate.ts';
import { valueFaults } from '../connectors/schemas/value-lists.ts';
import { hiddenIn, withoutHidden } from '../lib/hidden-characters.ts';
import { asJson, asObject, isJsonObject, type Json, type JsonObject } from '../lib/json.ts';

const MAX_SCHEMA_CHARS = 64 * 1024;
const MAX_SCHEMA_DEPTH = 40;
const MAX_CHANGE_CHARS = 300;
/** Keywords that would refer to a schema outside of the tool. */
const NAMING = new Set(['$id', '$schema', 'id']);
/** Keywords whose texts the server compares with the arguments. */
const COMPARED = new Set(['enum', 'const']);

/** Returns the schema of a tool's input. If it cannot be used, returns a schema that accepts every object. */
export function inputOf(given: JsonObject): { input: JsonObject; change?: string } {
  const open: JsonObject = { type: 'object' };
  if (JSON.stringify(given).length > MAX_SCHEMA_CHARS)
    return { input: open, change: 'its schema is too large, so every object is accepted' };
  const cleaned = cleanedSchema(given, 0);
  if (cleaned === 'too deep')
    return { input: open, change: 'its schema is nested too deep, so every object is accepted' };
  if (cleaned === 'hidden' || !isJsonObject(cleaned))
    return {
      input: open,
      change: 'a name in its schema holds hidden characters, so every object is accepted',
    };
  const notes: string[] = [];
  const typed = asObject(asJson(withAllTypedValues(cleaned, (what) => notes.push(what))));
  const input: JsonObject = { ...typed, type: 'object' };
  const [pattern] = schemaPatternFaults(input, 'input');
  if (pattern)
    return { input: open, change: `${pattern.field} ${pattern.rule}, so every object is accepted` };
  const [fault] = schemaFaults(input, 'input');
  if (fault) return { input: open, change: `its schema is not valid (${shown(fault.rule).slice(0, 200)})` };
  const impossible = valueFaults(input).find(({ place }) => place !== undefined);
  if (impossible) {
    const change = `input.${impossible.path.join('.')} ${impossible.fault}, so every object is accepted`;
    return { input: open, change: change.slice(0, MAX_CHANGE_CHARS) };
  }
  if (notes.length === 0) return { input };
  return { input, change: [...new Set(notes)].join('; ').slice(0, MAX_CHANGE_CHARS) };
}

/**
 * Returns a schema with cleaned texts and without the keywords of NAMING, or why it cannot be cleaned. Values that the
 * server compares with the arguments cannot be written out, so that an `enum` of them is left out. A name of an argument
 * cannot be written out either.
 */
function cleanedSchema(value: Json, depth: number): Exclude<Json, string> | 'too deep' | 'hidden' {
  if (depth > MAX_SCHEMA_DEPTH) return 'too deep';
  if (Array.isArray(value)) {
    const items: Json[] = [];
    for (const item of value) {
      const clean = typeof item === 'string' ? wellShown(item) : cleanedSchema(item, depth + 1);
      if (typeof clean === 'string' && typeof item !== 'string') return faultOf(clean);
      items.push(clean);
    }
    return items;
  }
  if (!isJsonObject(value)) return typeof value === 'string' ? null : value;
  const members: [string, Json][] = [];
  for (const [key, member] of Object.entries(value)) {
    if (NAMING.has(key) && typeof member === 'string') continue;
    if (isHidden(key)) return 'hidden';
    if (COMPARED.has(key) && holdsHidden(member, depth)) continue;
    if (typeof member === 'string') {
      members.push([key, wellShown(member)]);
      continue;
    }
    const clean = cleanedSchema(member, depth + 1);
    if (typeof clean === 'string') return faultOf(clean);
    members.push([key, clean]);
  }
  return Object.fromEntries(members);
}

function faultOf(text: string): 'too deep' | 'hidden' {
  return text === 'hidden' ? text : 'too deep';
}

function holdsHidden(value: Json, depth: number): boolean {
  if (typeof value === 'string') return isHidden(value);
  if (depth > MAX_SCHEMA_DEPTH || typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, one]) => isHidden(key) || holdsHidden(one, depth + 1));
}

/** Returns whether a connector file may not hold a text (connectors/parse.ts). */
function isHidden(text: string): boolean {
  return hiddenIn(text) !== undefined || text.includes('<!--');
}

function wellShown(text: string): string {
  return withoutHidden(text.toWellFormed()).replaceAll('<!--', '<! --');
}

/** Returns a text of the server as people and models may see it. */
export function shown(text: string): string {
  return wellShown(text).trim();
}
