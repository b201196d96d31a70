import type { Tx } from '../store/schema.ts';
import type { Item } from './claim-deliveries.ts';
import type { DeliverySummaries } from './delivery-summary.ts';
import type { DeliveryTarget } from './delivery-target.ts';
import type { Base } from '../base.ts';
import type { EventTriggers } from './ports.ts';

/** The parts that publishing and delivering use. */
export interface Context extends Base {
  /** Sends the deliveries of the outbox, in serving processes. */
  readonly dispatcher: Deliveries;
  readonly deliverySummaries: DeliverySummaries;
  readonly runs: EventTriggers;
}

/** The part of the dispatcher that publishing uses. */
export interface Deliveries {
  /** Looks for due deliveries. Call it after each commit that published events or made deliveries due. */
  wake(): void;
  /** Does the same for callers that know the transaction: its handoffs are sent without a query. */
  committed(tx: Tx): void;
  /** Reads a changed subscription again. Attempts to a disabled or deleted one are aborted. */
  changed(subscriptionId: string): void;
  /** Prepares handoffs from `tx`; undefined when this process does not send now or the subscription is disabled. */
  handoff(tx: Tx, target: DeliveryTarget): Handoff | undefined;
}

/** A delivery that publish() has not inserted yet, without lease. */
export type NewItem = Omit<Item, 'token' | 'until' | 'notBefore' | 'usage'>;

/** Hands off deliveries of one subscription, which an open transaction inserts, to this process. */
export interface Handoff {
  /** Returns the lease to insert the delivery with; undefined when the delivery must wait in the store. */
  take(item: NewItem): { token: string; until: number } | undefined;
}
