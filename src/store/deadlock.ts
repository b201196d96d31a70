import { codeOf } from './open.ts';

const TIMES = 5;

/**
 * Runs a statement or a transaction again when PostgreSQL ended it as one of two that waited for each other's rows: nothing
 * is left of it. For what takes many rows in no order of its own. SQLite ends nothing so.
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
