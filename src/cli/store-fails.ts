import type { Context } from '../context.ts';
import { StoreError } from '../store/open.ts';

/**
 * Waits for the store to fail for good, which every query would tell from then on while nothing ends the process. A command
 * that serves ends by it, at once: whoever supervises it starts it anew, and that one reads what the disk really has.
 * @throws StoreError, after a line of the log.
 */
export async function storeFails({ store, log }: Pick<Context, 'store' | 'log'>): Promise<never> {
  const error = await store.failed;
  log.fatal({ err: error }, 'the store failed, so this process ends');
  throw new StoreError(`${error.message}. This process ends, to be started anew.`, { cause: error });
}
