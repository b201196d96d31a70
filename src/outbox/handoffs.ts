import type { Transaction } from 'kysely';
import type { Context } from '../context.ts';
import { perDatabase, runKept } from '../store/kept.ts';
import type { Tables } from '../store/schema.ts';
import type { Item } from './claim.ts';
import type { Target } from './target.ts';

type Tx = Transaction<Tables>;

/** What publish hands over straight from its transaction, leased already: it is sent once that is committed. */
export interface Offers {
  /** Notes an item that `tx` inserts. */
  add(tx: Tx, target: Target, item: Item): void;
  /** How many items of this subscription wait for their commit. */
  waitingFor(subscriptionId: string): number;
  readonly size: number;
  /** When the last one was noted, by the process's own clock in milliseconds. */
  readonly lastAt: number;
  /** `tx` took place: its items need no look at the store. */
  committed(tx: Tx): void;
  /** Looks which of all others are committed. What is not is kept until its lease ends: it was rolled back. */
  look(): void;
  /** Resolves when no look is under way. */
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

/** `accept` gets what is committed. */
export function createOffers(
  { db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>,
  accept: (offered: Offered) => void,
): Offers {
  const byTransaction = new WeakMap<Tx, Offer>();
  let open: Offer[] = [];
  let lastAt = -Infinity;
  let looking: Promise<void> | undefined;
  /** Something was committed since the look began. */
  let wanted = false;

  /** One row tells of all: a transaction is there as a whole, or not at all. */
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

  /** Where the store cannot be asked, what it was not asked about stays for the next look. */
  const lookAtAll = async (): Promise<void> => {
    for (const offer of open.slice()) {
      const there = !offer.taken && (await isCommitted(offer));
      // Meanwhile its transaction may have said so itself.
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
