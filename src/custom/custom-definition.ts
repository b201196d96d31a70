import { compileFaults } from '../connectors/compile-check.ts';
import { customFaults } from '../connectors/semantics/custom-semantics.ts';
import { toCached } from '../connectors/definition-cache.ts';
import type { FileFault } from '../connectors/file-fault.ts';
import type { ConnectorFile } from '../connectors/format/format.ts';
import { originsOf } from '../connectors/origins.ts';
import { fittingOverlay, merged, setsMember } from '../connectors/overlay.ts';
import { parseValue, parseYaml, type Parsed } from '../connectors/parse.ts';
import { invalidRequest } from '../lib/errors.ts';
import { asObject, canonicalJson, parseJson, type JsonObject } from '../lib/json.ts';
import { sha256 } from '../lib/sha256.ts';
import { mapMemberFaults } from '../unified/map-members.ts';
import type { Parts, Source } from './parts.ts';
import { actionsRule, DEPTH_RULE, SENT, sizeRule, WHOLE_API } from './size.ts';

/** A checked custom connector. */
export interface Definition extends Parts {
  /** The file with the overlay. */
  readonly file: ConnectorFile;
  /** SHA-256 of the source's value. */
  readonly fingerprint: string;
  readonly origins: readonly string[];
  /** Actions that the overlay changes and the source does not have. */
  readonly unused: readonly string[];
}

/** A fault of a custom connector, and whether its overlay has it. */
type PartFault = FileFault & { isOfOverlay?: boolean };

/** A custom connector, or its faults. */
type Read = { definition: Definition; faults: [] } | { definition?: never; faults: PartFault[] };

/** Reads and checks a custom connector. `path` names it in faults, and `id` is the id that it must have. */
export function readDefinition(parts: Parts, path: string, id?: string): Read {
  try {
    return read(parts, path, id);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { faults: [{ file: path, path: '', rule: DEPTH_RULE }] };
  }
}

function read(parts: Parts, path: string, id: string | undefined): Read {
  const { source, kind, isStored = false } = parts;
  const given = typeof source === 'string' ? parseYaml(source, path) : { value: source, lineOf: noLine };
  if ('faults' in given) return { faults: given.faults };
  const { value, lineOf } = given;
  const { overlay, unused } = fittingOverlay(parts.overlay ?? {}, value);
  const whole = parts.overlay ? merged(value, overlay) : value;
  const rule =
    kind === 'openapi' ? sizeRule(whole, WHOLE_API) : (sizeRule(whole, SENT) ?? actionsRule(whole));
  if (rule !== undefined) return { faults: [{ file: path, path: '', rule }] };
  const inPart = (fault: FileFault): PartFault =>
    setsMember(overlay, value, fault.path) ? { ...fault, line: undefined, isOfOverlay: true } : fault;
  const parsed: Parsed = parseValue({ value: whole, lineOf }, path);
  if (!parsed.definition) return { faults: parsed.faults.map(inPart) };
  const file = parsed.definition;
  const faults = [...customFaults(file), ...compileFaults(file)];
  if (id !== undefined && file.id !== id) faults.push({ path: 'id', rule: `must equal "${id}"` });
  if (faults.length === 0 && !isStored) faults.push(...mapMemberFaults(file));
  if (faults.length > 0)
    return {
      faults: faults.map((fault) => inPart({ file: path, line: lineOf(fault.path), ...fault })),
    };
  const fingerprint = sha256(canonicalJson(parseJson(JSON.stringify(value))));
  return { definition: { ...parts, file, fingerprint, origins: originsOf(file), unused }, faults: [] };
}

const noLine = (): undefined => undefined;

/** The checked definition as columns of its version. */
export type Columns = ReturnType<typeof columnsOf>;

/** Returns the columns of a checked definition. */
export function columnsOf({ file, fingerprint, origins, source, overlay, kind }: Definition) {
  const { head, text } = toCached(file);
  return {
    kind,
    source: JSON.stringify(source),
    overlay: overlay === undefined ? null : JSON.stringify(overlay),
    head: JSON.stringify(head),
    definition: text(),
    fingerprint,
    origins: JSON.stringify(origins),
  };
}

/** Returns the value of a source that was checked before. */
export function valueOf(source: Source): JsonObject {
  const read = typeof source === 'string' ? parseYaml(source, '') : { value: source };
  return 'faults' in read ? {} : asObject(read.value);
}

/**
 * Returns the checked custom connector of a request.
 * @throws GatehouseError `invalid_request` with every fault by field, and by line where the source is text.
 */
export function requireDefinition(parts: Parts, id?: string): Definition {
  const { definition, faults } = readDefinition(parts, 'definition', id);
  if (definition) return definition;
  throw invalidRequest(
    faults.map(({ path, rule, line, isOfOverlay }) => {
      const part = isOfOverlay ? 'overlay' : 'definition';
      return {
        field: path === '' ? part : `${part}.${path}`,
        rule: line === undefined || rule.startsWith('line ') ? rule : `${rule} (line ${line})`,
        ...(line === undefined ? {} : { line }),
      };
    }),
    'The connector',
  );
}
