import type { Transaction } from 'kysely';
import type { Context } from '../context.ts';
import { perDatabase, runKept } from '../store/kept.ts';
import type { Tables } from '../store/schema.ts';
import type { Item } from './claim.ts';
import type { Target } from './target.ts';

type Tx = Transaction<Tables>;

/** Deliveries that publish() hands off from its transaction, with our lease. They are sent after the commit. */
export interface Offers {
  /** Adds an item that `tx` inserts. */
  add(tx: Tx, target: Target, item: Item): void;
  /** Returns how many items of a subscription wait for their commit. */
  waitingFor(subscriptionId: string): number;
  /** Number of transactions whose commit is not known. */
  readonly size: number;
  /** Time of the last add(), from performance.now(); -Infinity before the first one. */
  readonly lastAt: number;
  /** Accepts the items of `tx`, which is committed, without a query. */
  committed(tx: Tx): void;
  /** Queries which transactions are committed. The others are dropped when their lease expires, as rolled back. */
  look(): void;
  /** Resolves when no query is running. */
  idle(): Promise<void>;
}

/** Items of one subscription. */
export interface Offered {
  target: Target;
  items: Item[];
}

interface Offer {
  until: number;
  taken: boolean;
  bySubscription: Map<string, Offered>;
}

const isThere = perDatabase((db) =>
  db
    .selectFrom('deliveries')
    .select('delivery_id')
    .where('delivery_id', '=', '')
    .where('lease_token', '=', '')
    .compile(),
);

/** Creates the set of handoffs. `accept` receives the items of each committed transaction, by subscription. */
export function createOffers(
  { db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>,
  accept: (offered: Offered) => void,
): Offers {
  const byTransaction = new WeakMap<Tx, Offer>();
  let open: Offer[] = [];
  let lastAt = -Infinity;
  let looking: Promise<void> | undefined;
  /** look() was called since the running look began. */
  let wanted = false;

  /** Checks one row, because a transaction commits as a whole. */
  const isCommitted = async (offer: Offer): Promise<boolean> => {
    const [first] = offer.bySubscription.values();
    const item = first?.items[0];
    if (!item) return false;
    const { rows } = await runKept(db, isThere(db), [item.deliveryId, item.token]);
    return rows.length > 0;
  };

  const forget = (offer: Offer): void => {
    open = open.filter((one) => one !== offer);
  };

  const take = (offer: Offer): void => {
    offer.taken = true;
    forget(offer);
    for (const offered of offer.bySubscription.values()) accept(offered);
  };

  /** Throws when a query fails. The remaining transactions stay for the next look. */
  const lookAtAll = async (): Promise<void> => {
    for (const offer of open.slice()) {
      const there = !offer.taken && (await isCommitted(offer));
      // committed() may have accepted it during the query.
      if (offer.taken) continue;
      if (there) take(offer);
      else if (offer.until <= clock.now()) forget(offer);
    }
  };

  const lookWhileWanted = async (): Promise<void> => {
    while (wanted) {
      wanted = false;
      await lookAtAll().catch((error: unknown) => log.error({ err: error }, 'deliveries not taken over'));
    }
    looking = undefined;
  };

  return {
    add(tx, target, item) {
      lastAt = performance.now();
      let offer = byTransaction.get(tx);
      if (!offer) {
        byTransaction.set(tx, (offer = { until: item.until, taken: false, bySubscription: new Map() }));
        open.push(offer);
      }
      const known = offer.bySubscription.get(target.subscriptionId);
      if (known) known.items.push(item);
      else offer.bySubscription.set(target.subscriptionId, { target, items: [item] });
    },
    waitingFor(subscriptionId) {
      return open.reduce(
        (sum, offer) => sum + (offer.bySubscription.get(subscriptionId)?.items.length ?? 0),
        0,
      );
    },
    get size() {
      return open.length;
    },
    get lastAt() {
      return lastAt;
    },
    committed(tx) {
      const offer = byTransaction.get(tx);
      if (offer && !offer.taken) take(offer);
    },
    look() {
      if (open.length === 0) return;
      wanted = true;
      looking ??= lookWhileWanted();
    },
    idle: () => looking ?? Promise.resolve(),
  };
}
