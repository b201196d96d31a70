import type { CachedDefinition } from '../connectors/definition-cache.ts';
import type { FileFault } from '../connectors/file-fault.ts';
import type { ConnectorFile } from '../connectors/format/format.ts';
import { compareWithDocument, type DocumentComparison } from '../openapi/compare/compare-document.ts';
import { fileReader, MAX_FILE_BYTES, readDocument } from '../openapi/document-files.ts';
import { importOpenApi } from '../openapi/import.ts';
import type { Report } from '../openapi/reporter.ts';
import { GatehouseError, invalidRequest, invalidValue } from '../lib/errors.ts';
import { forFaults } from '../lib/for-faults.ts';
import { asObject, parseJson, type Json, type JsonObject } from '../lib/json.ts';
import { changesBetween, type ListedChanges } from './listed-changes.ts';
import { columnsOf, requireDefinition, valueOf, type Columns } from './custom-definition.ts';
import { readFolderDefinition, type FolderTexts } from './folder-definition.ts';
import { overlayIn, sourceOf, type Parts } from './parts.ts';
import { importInclude, importRequest, type ImportInclude, type ImportRequest } from './import-request.ts';

/* Work that takes seconds for a large API. builds.ts runs it in a process of its own. */

/** Deepest JSON of a request; the document itself is measured again. */
const MAX_DEPTH = 256;

/** The version that a change replaces. Columns are JSON texts. */
export interface Basis {
  source: string;
  overlay: string | null;
  definition: string;
  include: ImportInclude | undefined;
}

/** Imports the document of a request. */
export interface ImportTask {
  type: 'import';
  /** The body of the request as it arrived. */
  body: Uint8Array | string;
  /** Id that the connector must have; undefined: the request or the document names it. */
  id: string | undefined;
  basis: Basis | undefined;
  /** Today as YYYY-MM-DD. */
  today: string;
}

/** Checks a source with an overlay. */
export interface CheckTask {
  type: 'check';
  id: string | undefined;
  kind: Parts['kind'];
  source: string;
  overlay: string | null;
  isStored: Parts['isStored'];
}

/** Compares a connector with the OpenAPI document of its vendor. */
export interface CompareTask {
  type: 'compare';
  definition: ConnectorFile;
  /** Path of the document. */
  document: string;
}

/** Reads and checks a connector of the folder. */
export interface FolderTask {
  type: 'folder';
  texts: FolderTexts;
}

export type BuildTask = ImportTask | CheckTask;
export type Task = BuildTask | CompareTask | FolderTask;

/** A checked connector, as it is stored. */
export interface Built {
  connectorId: string;
  columns: Columns;
  /** Actions that the overlay changes and the source does not have. */
  unused: readonly string[];
  imported: Imported | undefined;
}

/** A checked connector of the folder, or its faults. */
export interface ReadFolder {
  definition: { head: CachedDefinition['head']; text: string } | undefined;
  faults: FileFault[];
}

/** The result of an import, besides the connector. */
export interface Imported {
  include: ImportInclude;
  report: Report;
  /** The difference from the version before; undefined where there is none. */
  changes: ListedChanges | undefined;
  acceptBreaking: boolean;
  dryRun: boolean;
}

/**
 * Builds a connector.
 * @throws GatehouseError `invalid_request` with every fault; `payload_too_large`
 */
export function build(task: BuildTask): Built {
  if (task.type === 'import') return importDocument(task);
  const { kind, id, isStored } = task;
  return built({ kind, source: sourceOf(task.source), overlay: overlayIn(task.overlay), isStored }, id);
}

/**
 * Compares a connector with a document.
 * @throws GatehouseError `invalid_request` for a document that cannot be read
 */
export function compare({ definition, document }: CompareTask): DocumentComparison {
  const text = readDocument(document);
  return compareWithDocument(definition, { text, maxBytes: MAX_FILE_BYTES, readFile: fileReader(document) });
}

/** Reads and checks a connector of the folder. Its definition is returned as text. */
export function readFolder({ texts }: FolderTask): ReadFolder {
  const { definition, faults } = readFolderDefinition(texts);
  return { definition: definition && { head: definition.head, text: definition.text() }, faults };
}

function built(parts: Parts, id: string | undefined): Built {
  const made = requireDefinition(parts, id);
  return { connectorId: made.file.id, columns: columnsOf(made), unused: made.unused, imported: undefined };
}

function importDocument({ body, id, basis, today }: ImportTask): Built {
  const { openapi, acceptBreaking = false, dryRun = false } = readRequest(body);
  const { document, connectorId } = openapi;
  if (id === undefined && acceptBreaking)
    throw invalidRequest(
      [{ field: 'acceptBreaking', rule: 'is for a connector that exists; use PUT' }],
      'The body',
    );
  if (id !== undefined && connectorId !== undefined && connectorId !== id)
    throw invalidRequest([{ field: 'openapi.connectorId', rule: `must equal "${id}"` }], 'The body');
  const { written, include, report } = importOpenApi(
    typeof document === 'string' ? document : JSON.stringify(document),
    {
      id: id ?? connectorId,
      include: openapi.include,
      maxBytes: MAX_FILE_BYTES,
      previous: () => basis && { actions: requestsIn(basis), include: basis.include ?? {} },
      today,
    },
  );
  const source = sameOr(basis, asObject(JSON.parse(JSON.stringify(written))));
  const overlay = overlayIn(basis?.overlay ?? null);
  const made = built({ kind: 'openapi', source, overlay }, id);
  const changes = basis && changesBetween(basis.definition, made.columns.definition);
  const chosen = importInclude.parse(JSON.parse(JSON.stringify(include)));
  return { ...made, imported: { include: chosen, report, changes, acceptBreaking, dryRun } };
}

/** Parses the body of a request. */
function readRequest(body: Uint8Array | string): ImportRequest {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  let value: Json;
  try {
    value = parseJson(text, MAX_DEPTH, { doubles: true });
  } catch (error) {
    const rule = error instanceof RangeError ? `nests deeper than ${MAX_DEPTH} levels` : 'is not JSON';
    throw new GatehouseError('invalid_request', `The body ${rule}.`, { cause: error });
  }
  if (!('openapi' in asObject(value)))
    throw new GatehouseError('payload_too_large', 'The body is larger than 1 MiB. Only `openapi` may be.');
  const parsed = importRequest.safeParse(value, forFaults());
  if (!parsed.success) throw invalidValue(parsed.error.issues, 'The body');
  return parsed.data;
}

/** Returns the requests of the actions in the source of a version; an overlay may hide some of them. */
function requestsIn({ source }: Basis): Record<string, { request: string }> {
  const { actions } = valueOf(sourceOf(source));
  return Object.fromEntries(
    Object.entries(asObject(actions)).map(([id, action]) => [
      id,
      { request: String(asObject(action)['request']) },
    ]),
  );
}

/** Returns the source of the version before where only the day of the import differs. */
function sameOr(basis: Basis | undefined, source: JsonObject): JsonObject {
  const before = basis ? valueOf(sourceOf(basis.source)) : {};
  const withoutDay = (one: JsonObject) => JSON.stringify({ ...one, sources: [] });
  return withoutDay(before) === withoutDay(source) ? before : source;
}
