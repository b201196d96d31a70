import { setImmediate as nextTurn } from 'node:timers/promises';

/** So many rows are deleted or changed in one statement: SQLite has one writer, and its event loop waits for each. */
const AT_ONCE = 500;

/**
 * Repeats a deletion of at most `limit` rows until it finds fewer, so that nobody waits long for a million of them.
 * `signal`: stops between two.
 */
export async function deleteInBatches(
  deleteSome: (limit: number) => Promise<{ numDeletedRows: bigint }>,
  signal?: AbortSignal,
): Promise<void> {
  await inBatches(async (limit) => (await deleteSome(limit)).numDeletedRows, signal);
}

/** The same for a change that leaves fewer rows to find. */
export async function updateInBatches(
  updateSome: (limit: number) => Promise<{ numUpdatedRows: bigint }>,
  signal?: AbortSignal,
): Promise<void> {
  await inBatches(async (limit) => (await updateSome(limit)).numUpdatedRows, signal);
}

async function inBatches(some: (limit: number) => Promise<bigint>, signal?: AbortSignal): Promise<void> {
  for (;;) {
    const done = await some(AT_ONCE);
    await nextTurn();
    if (done < AT_ONCE || signal?.aborted) return;
  }
}
