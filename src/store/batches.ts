import { setImmediate as nextTurn } from 'node:timers/promises';

/** So many rows are deleted in one statement: SQLite has one writer, and its event loop waits for each. */
const AT_ONCE = 500;

/**
 * Repeats a deletion of at most `limit` rows until it finds fewer, so that nobody waits long for a million of them.
 * `signal`: stops between two.
 */
export async function deleteInBatches(
  deleteSome: (limit: number) => Promise<{ numDeletedRows: bigint }>,
  signal?: AbortSignal,
): Promise<void> {
  for (;;) {
    const { numDeletedRows } = await deleteSome(AT_ONCE);
    await nextTurn();
    if (numDeletedRows < AT_ONCE || signal?.aborted) return;
  }
}
