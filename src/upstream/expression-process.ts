import { syncBuiltinESMExports } from 'node:module';
import threads from 'node:worker_threads';
import { memoByText } from '../lib/memo.ts';
import type { Answer, Task } from './expression-limits.ts';
import { compileExpression, exactJson, reasonOf } from './expression.ts';

/*
 * A process that only evaluates expressions. expression-limits.ts ends it when an expression takes too long, and Node.js when it
 * takes too much memory.
 */

const MAX_KEPT = 500;
/** Ends this process after its parent was killed; otherwise an endless expression would go on. */
const ORPHANED = `
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 1000).unref();
  setInterval(() => {}, 2 ** 30);
`;
const program = memoByText(MAX_KEPT, (expression) =>
  compileExpression(expression, { timeout: 1000, stack: 200, sequence: 100_000 }),
);

new threads.Worker(ORPHANED, { eval: true }).unref();
// A thread may get wider permissions than its process has (measured on Node.js 22 and 24), so no further thread can be
// started.
Reflect.deleteProperty(threads, 'Worker');
syncBuiltinESMExports();
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.on('message', (task: Task) => {
  void answerTo(task).then((answer) => process.send?.(answer));
});
process.send?.('ready');

async function answerTo({ scope, variants, ...task }: Task): Promise<Answer> {
  const base = JSON.parse(scope);
  const inputs: object[] = JSON.parse(variants).map((variant: object) => ({ ...base, ...variant }));
  // The message goes out first, because an endless expression would block it.
  await new Promise((sent) => process.send?.('begun', sent));
  return evaluate(inputs, task);
}

async function evaluate(
  inputs: object[],
  { expressions, maxBytes }: Pick<Task, 'expressions' | 'maxBytes'>,
): Promise<Answer> {
  const values: unknown[][] = [];
  for (const input of inputs) {
    const row: unknown[] = [];
    for (const expression of expressions) {
      try {
        row.push(exactJson(await (await program(expression)).evaluate(input)));
      } catch (error) {
        return { expression, reason: reasonOf(error) };
      }
    }
    values.push(row);
  }
  const text = JSON.stringify(values);
  if (text.length > maxBytes) return { expression: '', reason: `its value is larger than ${maxBytes} bytes` };
  return { values: text };
}
