import { setImmediate as nextTurn } from 'node:timers/promises';

/** Rows of the first step: few, since a row may take long with all that goes with it. */
const FIRST = 20;
/** Rows of a step that are always taken, however slow the database is, and those that no step exceeds. */
const LEAST = 10;
const MOST = 1000;
/** The time that a step aims at: SQLite has one writer, and its event loop waits for each statement. */
const STEP_MS = 5;

/**
 * Repeats a change of at most `limit` rows until it finds fewer. Each step takes about 5 ms, and other work of the event
 * loop runs between two. `signal`: stops between two steps.
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

/** Returns the rows of a step of 5 ms, at most twice those of the last one. */
function nextLimit(limit: number, tookMs: number): number {
  const fitting = Math.floor((limit * STEP_MS) / tookMs);
  return Math.max(LEAST, Math.min(fitting, 2 * limit, MOST));
}

/** Deletes in steps. */
export async function deleteInBatches(
  deleteSome: (limit: number) => Promise<{ numDeletedRows: bigint }>,
  signal?: AbortSignal,
): Promise<void> {
  await inSteps(async (limit) => (await deleteSome(limit)).numDeletedRows, signal);
}

/** The same for a change that leaves fewer rows to find. */
export async function updateInBatches(
  updateSome: (limit: number) => Promise<{ numUpdatedRows: bigint }>,
  signal?: AbortSignal,
): Promise<void> {
  await inSteps(async (limit) => (await updateSome(limit)).numUpdatedRows, signal);
}
