import type { Context } from '../context.ts';
import type { Crowd } from '../lib/crowd.ts';
import { release, type Item } from './claim.ts';

/** Gives back what this process holds and will not send: the store tells whose turn it is. */
interface Releases {
  add(items: readonly Item[]): void;
  /** Resolves when all that was added is given back, or could not be: the leases of that will end. */
  idle(): Promise<void>;
}

/** `token`: who we are on leases; `held`: what this process holds. */
export function createReleases(
  context: Pick<Context, 'db' | 'clock' | 'log'>,
  { token, held }: { token: string; held: Crowd<Item> },
): Releases {
  const underWay = new Set<Promise<void>>();
  return {
    add(items) {
      for (const item of items) held.delete(item);
      const ids = items.map(({ deliveryId }) => deliveryId);
      const released = release(context, token, ids)
        .catch((error: unknown) =>
          context.log.error(
            { err: error, count: ids.length },
            'deliveries not given back; their leases will end',
          ),
        )
        .finally(() => underWay.delete(released));
      underWay.add(released);
    },
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
