import type { Context } from '../context.ts';
import type { Crowd } from '../lib/crowd.ts';
import { release, type Item } from './claim.ts';

/** Gives back what this process holds and will not send: the store tells whose turn it is. Never throws. */
type Releases = (items: readonly Item[]) => Promise<void>;

/** `token`: who we are on leases; `held`: what this process holds. */
export function createReleases(
  context: Pick<Context, 'db' | 'clock' | 'log'>,
  { token, held }: { token: string; held: Crowd<Item> },
): Releases {
  return async (items) => {
    for (const item of items) held.delete(item);
    const ids = items.map(({ deliveryId }) => deliveryId);
    try {
      await release(context, token, ids);
    } catch (error) {
      context.log.error(
        { err: error, count: ids.length },
        'deliveries not given back; their leases will end',
      );
    }
  };
}
