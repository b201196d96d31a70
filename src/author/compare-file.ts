import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ConnectorFileError } from '../connectors/catalog.ts';
import type { FileFault } from '../connectors/file-fault.ts';
import { overlayOf } from '../connectors/overlay.ts';
import { parseWithOverlay, withLine } from '../connectors/parse.ts';
import type { CompareTask } from '../custom/build.ts';
import { createBuilds } from '../custom/builds.ts';
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

/* A comment in the connector file accepts the differences of its line, or of the line below it. */

/** `# openapi: the document of 2021 does not have it yet` */
const ACCEPTS = /(?:^|\s)#\s*openapi:\s*(\S.*?)\s*$/;

interface Judged {
  open: FileFault[];
  accepted: (FileFault & { reason: string })[];
}

/** Parts differences into accepted and open ones. A comment without a difference is an open one itself. */
function judged(differences: readonly FileFault[], { text, file }: { text: string; file: string }): Judged {
  const reasons = new Map<number, { reason: string; line: number }>();
  for (const [index, content] of text.split('\n').entries()) {
    const reason = ACCEPTS.exec(content)?.[1];
    if (reason === undefined) continue;
    const line = index + 1;
    reasons.set(/^\s*#/.test(content) ? line + 1 : line, { reason, line });
  }
  const result: Judged = { open: [], accepted: [] };
  const used = new Set<number>();
  for (const one of differences) {
    const found = one.file === file && one.line !== undefined ? reasons.get(one.line) : undefined;
    if (found) {
      used.add(found.line);
      result.accepted.push({ ...one, reason: found.reason });
    } else result.open.push(one);
  }
  for (const { line } of reasons.values())
    if (!used.has(line))
      result.open.push({ file, line, path: '', rule: 'this comment accepts no difference: remove it' });
  return result;
}
