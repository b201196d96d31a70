import { codeOf } from './unavailable.ts';

const TIMES = 5;

/**
 * Runs a statement or a transaction again when PostgreSQL ended it to resolve a deadlock (40P01), which leaves nothing
 * of it. Use it for statements that lock many rows in no fixed order. SQLite has no such deadlocks.
 */
export async function againAfterDeadlock<T>(run: () => Promise<T>): Promise<T> {
  for (let time = 1; ; time++) {
    try {
      return await run();
    } catch (error) {
      if (codeOf(error) !== '40P01' || time === TIMES) throw error;
    }
  }
}
