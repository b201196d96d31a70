import type { OpenContext } from '../context.ts';
import { StoreError } from '../store/open-database.ts';

/**
 * Waits until the store has failed permanently. Every later query would fail, so the process ends. Its supervisor then
 * starts a new process, which reads the disk again.
 * @throws StoreError, after a line of the log.
 */
export async function storeFails({ store, log }: Pick<OpenContext, 'store' | 'log'>): Promise<never> {
  const error = await store.failed;
  log.fatal({ err: error }, 'store failed, process ends');
  throw new StoreError(`${error.message}. This process ends, so that its supervisor can restart it.`, {
    cause: error,
  });
}
