import { syncBuiltinESMExports } from 'node:module';
import threads from 'node:worker_threads';

/** Ends this process after its parent was killed; otherwise work without end would go on. */
const ORPHANED = `
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 1000).unref();
  setInterval(() => {}, 2 ** 30);
`;

/**
 * Ends this child process with its parent, also while it computes. A thread may get wider permissions than its process
 * has (measured on Node.js 22 and 24), so no further thread can be started afterwards.
 */
export function endWithParent(): void {
  new threads.Worker(ORPHANED, { eval: true }).unref();
  Reflect.deleteProperty(threads, 'Worker');
  syncBuiltinESMExports();
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
}
