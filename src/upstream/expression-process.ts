import { memoByText } from '../lib/memo.ts';
import { endWithParent } from '../lib/parent-watch.ts';
import type { EvaluationReply, Task } from './expression-limits.ts';
import { compileExpression, exactJson, isTimeout, linear, reasonOf } from './expression.ts';

/*
 * A process that only evaluates expressions. expression-limits.ts ends it when an expression takes too long, and Node.js when it
 * takes too much memory.
 */

const MAX_KEPT = 500;
const program = memoByText(MAX_KEPT, (expression) =>
  compileExpression(expression, { timeout: 1000, stack: 200, sequence: 100_000 }),
);
/** Expressions of connectors, as expression.ts compiles them. */
const connectorProgram = memoByText(MAX_KEPT, (expression) => compileExpression(expression, linear()));

endWithParent();
process.on('message', (task: Task) => {
  void answerTo(task).then((answer) => process.send?.(answer));
});
process.send?.('ready');

async function answerTo({ scope, variants, ...task }: Task): Promise<EvaluationReply> {
  const base = JSON.parse(scope);
  const given: object[] = JSON.parse(variants);
  const inputs = task.isOfConnector ? given : given.map((variant) => ({ ...base, ...variant }));
  // The message goes out first, because an endless expression would block it.
  await new Promise((sent) => process.send?.('begun', sent));
  return evaluate(inputs, task);
}

async function evaluate(
  inputs: object[],
  { expressions, maxBytes, isOfConnector }: Pick<Task, 'expressions' | 'maxBytes' | 'isOfConnector'>,
): Promise<EvaluationReply> {
  const values: unknown[][] = [];
  for (const input of inputs) {
    const row: unknown[] = [];
    for (const expression of expressions) {
      try {
        const compiled = await (isOfConnector ? connectorProgram : program)(expression);
        row.push(exactJson(await compiled.evaluate(input)));
      } catch (error) {
        return { expression, reason: reasonOf(error), isTimeout: isTimeout(error) };
      }
    }
    values.push(row);
  }
  const text = JSON.stringify(values);
  if (text.length > maxBytes)
    return { expression: '', reason: `its value is larger than ${maxBytes} bytes`, isTimeout: false };
  return { values: text };
}
