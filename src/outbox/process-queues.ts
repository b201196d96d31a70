import type { Base } from '../base.ts';
import { MINUTE } from '../lib/clock.ts';
import { Capacity } from './capacity.ts';
import { type Item, release } from './claim-deliveries.ts';
import { isIdle, isOnHold, newQueue, retarget, spaceIn, UNKNOWN_QUEUE, type Queue } from './queue.ts';
import type { DeliveryTarget } from './delivery-target.ts';

/** Deliveries in this process, from the claim until their outcome is stored. Their bodies count against the capacity. */
class Held extends Set<Item> {
  readonly #capacity: Capacity;

  constructor(capacity: Capacity) {
    super();
    this.#capacity = capacity;
  }

  override add(item: Item): this {
    if (!this.has(item)) this.#capacity.take(item.usage, 'chars', item.body.length);
    return super.add(item);
  }

  override delete(item: Item): boolean {
    const wasHeld = super.delete(item);
    if (wasHeld) this.#capacity.release(item.usage, 'chars', item.body.length);
    return wasHeld;
  }
}

/** The queues of this process by subscription, the deliveries in them, and the capacity that they share. */
export class Queues {
  readonly capacity = new Capacity();
  readonly held = new Held(this.capacity);
  readonly releases: Releases;
  readonly #clock: Base['clock'];
  readonly #queues = new Map<string, Queue>();

  /** `token`: the lease token of this process. */
  constructor(context: Pick<Base, 'db' | 'clock' | 'log'>, token: string) {
    this.#clock = context.clock;
    this.releases = createReleases(context, { token, held: this.held });
  }

  get(subscriptionId: string): Queue | undefined {
    return this.#queues.get(subscriptionId);
  }

  all(): Iterable<Queue> {
    return this.#queues.values();
  }

  /** Adds leased deliveries to the queue of their subscription. `target` was read with them. */
  add(target: DeliveryTarget, items: readonly Item[]): Queue {
    let queue = this.#queues.get(target.subscriptionId);
    if (!queue) {
      queue = newQueue(target, this.#clock.now(), this.capacity.usageOf(target.owner));
      this.#queues.set(target.subscriptionId, queue);
    }
    retarget(queue, target);
    queue.readAt = this.#clock.now();
    for (const item of items) {
      this.held.add(item);
      queue.items.push(item);
    }
    this.capacity.take(queue.usage, 'queued', items.length);
    return queue;
  }

  /** Takes the first delivery out of a queue, to send it. It stays in `held`. */
  shift(queue: Queue): void {
    queue.items.shift();
    this.capacity.release(queue.usage, 'queued');
  }

  /** Releases the deliveries of a queue that have not begun. They are claimed again from the store. */
  release(queue: Queue): void {
    const items = queue.items.splice(0);
    if (items.length === 0) return;
    this.capacity.release(queue.usage, 'queued', items.length);
    this.releases.add(items);
  }

  /** Removes the queue of a disabled or deleted subscription, and aborts its attempts. */
  cancel(queue: Queue): void {
    this.#queues.delete(queue.target.subscriptionId);
    clearTimeout(queue.timer);
    const items = queue.items.splice(0);
    for (const item of items) this.held.delete(item);
    this.capacity.release(queue.usage, 'queued', items.length);
    for (const run of queue.running) run.ended.abort();
  }

  /** Returns how many more deliveries a subscription may claim now. */
  freeSlotsOf(subscriptionId: string): number {
    const queue = this.#queues.get(subscriptionId);
    return queue ? this.freeSlots(queue) : spaceIn(UNKNOWN_QUEUE);
  }

  freeSlots(queue: Queue): number {
    const isFull = !this.capacity.has(queue.usage, 'queued') || !this.capacity.has(queue.usage, 'chars');
    return isFull || isOnHold(queue, this.#clock.now()) ? 0 : spaceIn(queue);
  }

  /** Removes queues that were idle for a minute. */
  prune(): void {
    const now = this.#clock.now();
    for (const [id, queue] of this.#queues)
      if (isIdle(queue, now) && now - queue.readAt > MINUTE) this.#queues.delete(id);
    this.capacity.prune(new Set([...this.all()].map((queue) => queue.target.owner)));
  }
}

/** Releases deliveries that this process leased and will not send, in the background. */
interface Releases {
  add(items: readonly Item[]): void;
  /** Resolves when all releases have ended. Leases that could not be released expire. */
  idle(): Promise<void>;
}

/** `token`: the lease token of this process; `held`: the deliveries in this process. */
function createReleases(
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
