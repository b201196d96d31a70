import { answerError, hidesCause, type GatehouseError } from '../lib/errors.ts';

/** Maximum number of calls in one batch. */
export const MAX_CALLS = 10;

/** The result of one call of a batch. */
export type BatchResult<T> = { value: T } | { error: GatehouseError };

/**
 * Runs the calls of a batch at the same time. Each has its own result or error, in the order of the calls. `onDone`
 * gets the number of finished calls. `onFault` gets each error that is no refusal.
 */
export async function runBatch<C, T>(
  calls: readonly C[],
  run: (call: C) => Promise<T>,
  { onDone, onFault }: { onDone?: (done: number) => void; onFault: (error: unknown) => void },
): Promise<BatchResult<T>[]> {
  let done = 0;
  const one = async (call: C): Promise<BatchResult<T>> => {
    try {
      return { value: await run(call) };
    } catch (thrown) {
      const error = answerError(thrown);
      if (hidesCause(error)) onFault(thrown);
      return { error };
    } finally {
      done += 1;
      onDone?.(done);
    }
  };
  return Promise.all(calls.map(one));
}
