import type { Base } from '../base.ts';
import { release, type Item } from './claim-deliveries.ts';

/** Releases deliveries that this process leased and will not send, in the background. */
export interface Releases {
  add(items: readonly Item[]): void;
  /** Resolves when all releases have ended. Leases that could not be released expire. */
  idle(): Promise<void>;
}

/** `token`: the lease token of this process; `held`: the deliveries in this process. */
export function createReleases(
  context: Pick<Base, 'db' | 'clock' | 'log'>,
  { token, held }: { token: string; held: Set<Item> },
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
            'deliveries not released, their leases will expire',
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
