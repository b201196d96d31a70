import type { OpenContext } from '../context.ts';
import { StoreError } from '../store/open.ts';

/**
 * Waits for the store to fail for good; every query would report that from then on, without ending the process. A
 * serving command ends at once instead. Its supervisor starts a new process, which reads what the disk really has.
 * @throws StoreError, after a line of the log.
 */
export async function storeFails({ store, log }: Pick<OpenContext, 'store' | 'log'>): Promise<never> {
  const error = await store.failed;
  log.fatal({ err: error }, 'store failed, process ends');
  throw new StoreError(`${error.message}. This process ends, so that its supervisor can restart it.`, {
    cause: error,
  });
}
