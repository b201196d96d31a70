import type { Transaction } from 'kysely';
import type { Db, Tables } from './schema.ts';

/**
 * Many small writes as few synced commits: measured, a row of its own costs 10 to 50 times what it costs in a
 * transaction with others. Nobody waits for company: what is added while a commit is under way makes up the next one.
 */
export interface GroupCommit<T, R> {
  /** Resolves with what `write` gave for this item, once it is committed. @throws what the write of this item threw. */
  add(item: T): Promise<R>;
  /** Items that are not committed yet. */
  readonly waiting: number;
  /** Resolves when everything that was added is committed or has failed. */
  idle(): Promise<void>;
}

const MOST_ITEMS = 100;

interface Entry<T, R> {
  item: T;
  resolve: (result: R) => void;
  reject: (error: unknown) => void;
}

/**
 * `write` gets the items of one transaction and answers with a result for each, in their order. When a transaction of
 * several fails, each of its items is written in one of its own, so that one bad item fails alone. `committed` hears of
 * each transaction that took place.
 */
export function createGroupCommit<T, R = void>(
  db: Db,
  write: (tx: Transaction<Tables>, items: T[]) => Promise<R[]>,
  committed?: (tx: Transaction<Tables>) => void,
): GroupCommit<T, R> {
  let queue: Entry<T, R>[] = [];
  let underWay = 0;
  let running: Promise<void> | undefined;

  const commit = async (batch: Entry<T, R>[]): Promise<void> => {
    try {
      let transaction: Transaction<Tables> | undefined;
      const results = await db.transaction().execute((tx) => {
        transaction = tx;
        return write(
          tx,
          batch.map(({ item }) => item),
        );
      });
      if (transaction) committed?.(transaction);
      for (const [position, result] of results.entries()) batch[position]?.resolve(result);
    } catch (error) {
      const [only, ...others] = batch;
      if (others.length === 0) only?.reject(error);
      else for (const entry of batch) await commit([entry]);
    }
  };

  const run = async (): Promise<void> => {
    // What else arrives in this turn of the event loop comes along.
    await new Promise((next) => setImmediate(next));
    while (queue.length > 0) {
      const batch = queue.splice(0, MOST_ITEMS);
      underWay = batch.length;
      await commit(batch);
      underWay = 0;
    }
    running = undefined;
  };

  return {
    add(item) {
      return new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject });
        running ??= run();
      });
    },
    get waiting() {
      return queue.length + underWay;
    },
    async idle() {
      await running;
    },
  };
}
