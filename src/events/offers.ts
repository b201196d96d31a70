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
  /** The transaction took place: its items need no look at the store. */
  committed(tx: Tx): void;
  /** Items whose transactions are committed. Others are kept until their lease ends: they were rolled back. */
  taken(): Promise<{ target: Target; items: Item[] }[]>;
}

interface Offer {
  until: number;
  committed: boolean;
  bySubscription: Map<string, { target: Target; items: Item[] }>;
}

const isThere = perDatabase((db) =>
  db
    .selectFrom('deliveries')
    .select('delivery_id')
    .where('delivery_id', '=', '')
    .where('lease_token', '=', '')
    .compile(),
);

export function createOffers({ db, clock }: Pick<Context, 'db' | 'clock'>): Offers {
  const byTransaction = new WeakMap<Tx, Offer>();
  let open: Offer[] = [];

  /** One row tells of all: a transaction is there as a whole, or not at all. */
  const isCommitted = async (offer: Offer): Promise<boolean> => {
    const [first] = offer.bySubscription.values();
    const item = first?.items[0];
    if (!item) return false;
    const { rows } = await runKept(db, isThere(db), [item.deliveryId, item.token]);
    return rows.length > 0;
  };

  return {
    add(tx, target, item) {
      let offer = byTransaction.get(tx);
      if (!offer) {
        byTransaction.set(tx, (offer = { until: item.until, committed: false, bySubscription: new Map() }));
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
    committed(tx) {
      const offer = byTransaction.get(tx);
      if (offer) offer.committed = true;
    },
    async taken() {
      const looked = open;
      open = [];
      const found: { target: Target; items: Item[] }[] = [];
      for (const offer of looked) {
        if (offer.committed || (await isCommitted(offer))) found.push(...offer.bySubscription.values());
        else if (offer.until > clock.now()) open.push(offer);
      }
      return found;
    },
  };
}
