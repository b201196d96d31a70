import type { FileFault } from '../connectors/file-fault.ts';

/* A comment in the connector file accepts the differences of its line, or of the line below it. */

/** `# openapi: the document of 2021 does not have it yet` */
const ACCEPTS = /(?:^|\s)#\s*openapi:\s*(\S.*?)\s*$/;

export interface Judged {
  open: FileFault[];
  accepted: (FileFault & { reason: string })[];
}

/** Parts differences into accepted and open ones. A comment without a difference is an open one itself. */
export function judged(
  differences: readonly FileFault[],
  { text, file }: { text: string; file: string },
): Judged {
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
