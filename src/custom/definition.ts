import { compileFaults } from '../connectors/compile-check.ts';
import { customFaults } from '../connectors/custom-semantics.ts';
import type { ConnectorFile } from '../connectors/format.ts';
import { originsOf } from '../connectors/origins.ts';
import { parseValue, parseYaml, type Parsed } from '../connectors/parse.ts';
import type { FileFault } from '../connectors/file-fault.ts';
import { invalidRequest } from '../lib/errors.ts';
import { asObject, canonicalJson, isJsonObject, parseJson, type Json, type JsonObject } from '../lib/json.ts';
import { sha256 } from '../lib/sha256.ts';

/** A connector file as the caller sent it: an object, or YAML text. */
export type Source = string | JsonObject;

/** A checked custom connector. */
export interface Definition {
  readonly source: Source;
  readonly file: ConnectorFile;
  /** SHA-256 of the source's value. */
  readonly fingerprint: string;
  readonly origins: readonly string[];
}

/** Members that a source may have at most, with those of all levels, and its depth. Anchors of YAML can repeat them. */
const MAX_MEMBERS = 200_000;
const MAX_DEPTH = 64;
/** Characters of all texts. A body has at most 1 MiB, and anchors can repeat it. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** A custom connector, or its faults. */
export type Read = { definition: Definition; faults: [] } | { definition?: never; faults: FileFault[] };

/** Reads and checks a custom connector. `path` names it in faults, and `id` is the id that it must have. */
export function readDefinition(source: Source, path: string, id?: string): Read {
  try {
    return read(source, path, id);
  } catch (error) {
    // The parser of YAML and the checks recurse into a value. MAX_DEPTH bounds all but the parser.
    if (!(error instanceof RangeError)) throw error;
    return { faults: [{ file: path, path: '', rule: `must be nested at most ${MAX_DEPTH} levels deep` }] };
  }
}

function read(source: Source, path: string, id: string | undefined): Read {
  const given = typeof source === 'string' ? readText(source, path) : { value: source, lineOf: noLine };
  if ('faults' in given) return { faults: given.faults };
  const { value, lineOf } = given;
  const rule = sizeRule(value);
  if (rule !== undefined) return { faults: [{ file: path, path: '', rule }] };
  const parsed: Parsed = parseValue({ value, lineOf }, path);
  if (!parsed.definition) return { faults: parsed.faults };
  const file = parsed.definition;
  const faults = [...customFaults(file), ...compileFaults(file)];
  if (id !== undefined && file.id !== id) faults.push({ path: 'id', rule: `must equal "${id}"` });
  if (faults.length > 0)
    return { faults: faults.map((fault) => ({ file: path, line: lineOf(fault.path), ...fault })) };
  const fingerprint = sha256(canonicalJson(parseJson(JSON.stringify(value))));
  return { definition: { source, file, fingerprint, origins: originsOf(file) }, faults: [] };
}

const noLine = (): undefined => undefined;

/** Reads a text as JSON, which is faster than YAML, unless it is none. */
function readText(text: string, path: string) {
  let json: Json | undefined;
  try {
    if (text.trimStart().startsWith('{')) json = parseJson(text);
  } catch {
    // YAML in braces, or a mistake that the parser of YAML reports with its line.
  }
  return isJsonObject(json) ? { value: json, lineOf: noLine } : parseYaml(text, path);
}

/** Returns the value of a source that was checked before. */
export function valueOf(source: Source): JsonObject {
  const read = typeof source === 'string' ? readText(source, '') : { value: source };
  return 'faults' in read ? {} : asObject(read.value);
}

/** Returns the rule about size that a value breaks. */
function sizeRule(value: unknown): string | undefined {
  let members = 0;
  let characters = 0;
  const left: [value: unknown, depth: number][] = [[value, 0]];
  for (let next = left.pop(); next; next = left.pop()) {
    const [one, depth] = next;
    members++;
    if (typeof one === 'string') characters += one.length;
    if (depth > MAX_DEPTH) return `must be nested at most ${MAX_DEPTH} levels deep`;
    if (members > MAX_MEMBERS) return `must have at most ${MAX_MEMBERS} members`;
    if (characters > MAX_CHARACTERS) return `must have at most ${MAX_CHARACTERS} characters of text`;
    if (typeof one !== 'object' || one === null) continue;
    for (const [name, member] of Object.entries(one)) {
      characters += name.length;
      left.push([member, depth + 1]);
    }
  }
  return undefined;
}

/**
 * Returns the checked custom connector of a request.
 * @throws GatehouseError `invalid_request` with every fault by field, and by line where the source is text.
 */
export function requireDefinition(source: Source, id?: string): Definition {
  const { definition, faults } = readDefinition(source, 'definition', id);
  if (definition) return definition;
  throw invalidRequest(
    faults.map(({ path, rule, line }) => ({
      field: path === '' ? 'definition' : `definition.${path}`,
      rule: line === undefined || rule.startsWith('line ') ? rule : `${rule} (line ${line})`,
      ...(line === undefined ? {} : { line }),
    })),
    'The connector',
  );
}
