import { setImmediate as nextTurn } from 'node:timers/promises';

/** Rows of the first step. It is small, because the cascades of one row may take long. */
const FIRST = 20;
/** Rows of a step: at least this many, however slow the database is. */
const LEAST = 10;
const MOST = 1000;
/** Time that a step aims at. SQLite has one writer, and its event loop waits for each statement. */
const STEP_MS = 5;

/**
 * Repeats a change of at most `limit` rows until it finds fewer. Each step takes about 5 ms, and the event loop does
 * other work between two steps. `signal` stops it between two steps.
 */
export async function inSteps(
  changeSome: (limit: number) => Promise<bigint | number>,
  signal?: AbortSignal,
): Promise<void> {
  for (let limit = FIRST; ;) {
    const beganAt = performance.now();
    const changed = await changeSome(limit);
    const tookMs = performance.now() - beganAt;
    await nextTurn();
    if (changed < limit || signal?.aborted) return;
    limit = nextLimit(limit, tookMs);
  }
}

/** Returns the row count of a step of 5 ms, at most twice that of the last step. */
function nextLimit(limit: number, tookMs: number): number {
  const fitting = Math.floor((limit * STEP_MS) / tookMs);
  return Math.max(LEAST, Math.min(fitting, 2 * limit, MOST));
}

/** Deletes or updates rows in steps. An update must leave fewer rows to find. */
export async function inBatches(
  changeSome: (limit: number) => Promise<{ numDeletedRows: bigint } | { numUpdatedRows: bigint }>,
  signal?: AbortSignal,
): Promise<void> {
  await inSteps(async (limit) => {
    const changed = await changeSome(limit);
    return 'numDeletedRows' in changed ? changed.numDeletedRows : changed.numUpdatedRows;
  }, signal);
}
