import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ConnectorFileError } from '../connectors/catalog.ts';
import type { FileFault } from '../connectors/file-fault.ts';
import { overlayOf } from '../connectors/overlay.ts';
import { parseWithOverlay, withLine } from '../connectors/parse.ts';
import type { CompareTask } from '../custom/build.ts';
import { createBuilds } from '../custom/builds.ts';
import { judged, type Judged } from './accepted.ts';
import type { DocumentComparison } from '../openapi/compare/compare-document.ts';

/** A connector next to the OpenAPI document of its vendor. */
export interface Compared {
  /** Title and version of the document. */
  document: string;
  /** Number of actions whose operation is in the document. */
  compared: number;
  differences: FileFault[];
  /** Differences that a comment in the file accepts, with its text as the reason. */
  accepted: Judged['accepted'];
  /** Parts that could not be compared, and why. */
  notCompared: FileFault[];
}

/** Runs a comparison: in this process, or in another one. */
type Compare = (task: CompareTask) => DocumentComparison | Promise<DocumentComparison>;

/**
 * Compares a connector file with an OpenAPI document. By default it runs in a process of its own with limits of time
 * and memory.
 * @throws ConnectorFileError for a faulty file; GatehouseError for a document that cannot be read or exceeds the limits.
 */
export async function compareFile(
  file: string,
  document: string,
  compare: Compare = compareInProcess,
): Promise<Compared> {
  const text = await readFile(file, 'utf8');
  const parsed = parseWithOverlay({ text, file, id: undefined, overlay: overlayOf(file) });
  if (!parsed.definition) throw new ConnectorFileError(parsed.faults);
  const { definition, lineOf } = parsed;
  const found = await compare({ type: 'compare', definition, document: resolve(document) });
  const placed = ({ path, rule }: { path: string; rule: string }) => withLine({ file, path, rule }, lineOf);
  const { open, accepted } = judged(found.differences.map(placed), { text, file });
  return {
    document: found.document,
    compared: found.compared,
    differences: open,
    accepted,
    notCompared: found.notCompared.map(placed),
  };
}

async function compareInProcess(task: CompareTask): Promise<DocumentComparison> {
  const builds = createBuilds();
  try {
    return await builds.compare('', task);
  } finally {
    await builds.close();
  }
}
