import type { Base } from '../base.ts';
import { createLoop } from '../runtime/loop.ts';
import { perDatabase, runPrepared } from '../store/prepared.ts';
import type { Tx } from '../store/schema.ts';
import type { Item } from './claim-deliveries.ts';
import type { DeliveryTarget } from './delivery-target.ts';

/** Deliveries that publish() hands off from its transaction, with our lease. They are sent after the commit. */
export interface Handoffs {
  /** Adds an item that `tx` inserts. */
  add(tx: Tx, target: DeliveryTarget, item: Item): void;
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
export interface HandedOff {
  target: DeliveryTarget;
  items: Item[];
}

interface Handoff {
  until: number;
  taken: boolean;
  bySubscription: Map<string, HandedOff>;
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
export function createHandoffs(
  { db, clock, log }: Pick<Base, 'db' | 'clock' | 'log'>,
  accept: (handedOff: HandedOff) => void,
): Handoffs {
  const byTransaction = new WeakMap<Tx, Handoff>();
  let open: Handoff[] = [];
  let lastAt = -Infinity;

  /** Checks one row, because a transaction commits as a whole. */
  const isCommitted = async (handoff: Handoff): Promise<boolean> => {
    const [first] = handoff.bySubscription.values();
    const item = first?.items[0];
    if (!item) return false;
    const { rows } = await runPrepared(db, isThere(db), [item.deliveryId, item.token]);
    return rows.length > 0;
  };

  const remove = (handoff: Handoff): void => {
    open = open.filter((one) => one !== handoff);
  };

  const take = (handoff: Handoff): void => {
    handoff.taken = true;
    remove(handoff);
    for (const handedOff of handoff.bySubscription.values()) accept(handedOff);
  };

  /** Throws when a query fails. The remaining transactions stay for the next look. */
  const lookAtAll = async (): Promise<void> => {
    for (const handoff of open.slice()) {
      const there = !handoff.taken && (await isCommitted(handoff));
      // committed() may have accepted it during the query.
      if (handoff.taken) continue;
      if (there) take(handoff);
      else if (handoff.until <= clock.now()) remove(handoff);
    }
  };

  const loop = createLoop({
    turn: lookAtAll,
    onError: (error) => log.error({ err: error }, 'deliveries not taken over'),
  });

  return {
    add(tx, target, item) {
      lastAt = performance.now();
      let handoff = byTransaction.get(tx);
      if (!handoff) {
        byTransaction.set(tx, (handoff = { until: item.until, taken: false, bySubscription: new Map() }));
        open.push(handoff);
      }
      const known = handoff.bySubscription.get(target.subscriptionId);
      if (known) known.items.push(item);
      else handoff.bySubscription.set(target.subscriptionId, { target, items: [item] });
    },
    waitingFor(subscriptionId) {
      return open.reduce(
        (sum, handoff) => sum + (handoff.bySubscription.get(subscriptionId)?.items.length ?? 0),
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
      const handoff = byTransaction.get(tx);
      if (handoff && !handoff.taken) take(handoff);
    },
    look() {
      if (open.length > 0) loop.wake();
    },
    idle: loop.idle,
  };
}
