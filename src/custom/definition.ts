import { compileFaults } from '../connectors/compile-check.ts';
import { customFaults } from '../connectors/custom-semantics.ts';
import type { ConnectorFile } from '../connectors/format.ts';
import { originsOf } from '../connectors/origins.ts';
import { parseValue, parseYaml, type Parsed } from '../connectors/parse.ts';
import { DEPTH_RULE, SENT, sizeRule } from './size.ts';
import type { FileFault } from '../connectors/file-fault.ts';
import { invalidRequest } from '../lib/errors.ts';
import { asObject, canonicalJson, parseJson, type JsonObject } from '../lib/json.ts';
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

/** A custom connector, or its faults. */
export type Read = { definition: Definition; faults: [] } | { definition?: never; faults: FileFault[] };

/** Reads and checks a custom connector. `path` names it in faults, and `id` is the id that it must have. */
export function readDefinition(source: Source, path: string, id?: string): Read {
  try {
    return read(source, path, id);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { faults: [{ file: path, path: '', rule: DEPTH_RULE }] };
  }
}

function read(source: Source, path: string, id: string | undefined): Read {
  const given = typeof source === 'string' ? parseYaml(source, path) : { value: source, lineOf: noLine };
  if ('faults' in given) return { faults: given.faults };
  const { value, lineOf } = given;
  const rule = sizeRule(value, SENT);
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

/** Returns the value of a source that was checked before. */
export function valueOf(source: Source): JsonObject {
  const read = typeof source === 'string' ? parseYaml(source, '') : { value: source };
  return 'faults' in read ? {} : asObject(read.value);
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
