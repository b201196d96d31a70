import { GatehouseError } from '../lib/errors.ts';
import { endWithParent } from '../lib/parent-watch.ts';
import type { DocumentComparison } from '../openapi/compare/compare-document.ts';
import { build, compare, readFolder, type Built, type ReadFolder, type Task } from './build.ts';

/*
 * A process that builds, compares or reads one connector and ends. builds.ts ends it when that takes too long, and Node.js
 * when it takes too much memory.
 */

/** A finished task. */
export type Done = { built: Built } | { compared: DocumentComparison } | { read: ReadFolder };
/** The message of the process: the result, or the refusal. */
export type BuildReply =
  | Done
  | { refused: { code: GatehouseError['code']; message: string; details: GatehouseError['details'] } }
  | { failed: string };

endWithParent();
process.on('message', (task: Task) => {
  process.send?.(outcomeOf(task));
});
process.send?.('ready');

function outcomeOf(task: Task): BuildReply {
  try {
    if (task.type === 'compare') return { compared: compare(task) };
    return task.type === 'folder' ? { read: readFolder(task) } : { built: build(task) };
  } catch (error) {
    if (!(error instanceof GatehouseError))
      return { failed: error instanceof Error ? `${error.stack}` : String(error) };
    const { code, message, details } = error;
    return { refused: { code, message, details } };
  }
}
