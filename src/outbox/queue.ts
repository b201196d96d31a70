import { slotAt, type Item } from './claim-deliveries.ts';
import { emptyUsage, type Usage } from './capacity.ts';
import type { AttemptOutcome } from './delivery-outcome.ts';
import type { DeliveryTarget } from './delivery-target.ts';

/**
 * The deliveries of one subscription in this process. A degraded queue sends one delivery at a time, from a capacity of
 * its own, so it does not delay healthy queues. A healthy queue may hold more deliveries in memory.
 */
export interface Queue {
  target: DeliveryTarget;
  /** Usage of the queue's owner. */
  readonly usage: Usage;
  /** When the target was read (epoch milliseconds). */
  readAt: number;
  items: Item[];
  running: Set<Run>;
  /** Number of address changes. */
  addressChanges: number;
  /** Number of running attempts that began at an earlier address. */
  runsAtOldAddress: number;
  /** 'new' before the first outcome at this address, 'degraded' after a failed or slow attempt. */
  health: 'new' | 'healthy' | 'degraded';
  /** Attempts at the same time unless the queue is degraded or ordered. */
  width: number;
  /** End of the pause that the receiver asked this process for, epoch ms; the target has that of all processes. */
  holdUntil: number;
  /** Earliest next attempt under a rate limit, epoch ms. Slots missed while all attempts ran are not made up. */
  nextAt: number;
  /** Whether the store may have more deliveries for it. */
  more: boolean;
  /** Timer of the next rate-limit slot. */
  timer: NodeJS.Timeout | undefined;
  /** Whether the target is being read. */
  refreshing: boolean;
  /** Whether the target changed since that read began. */
  stale: boolean;
}

export interface Run {
  item: Item;
  ended: AbortController;
  /** Whether the attempt counts as slow in the owner's usage. */
  slow: boolean;
  /** Number of address changes of the queue when the run began. */
  addressChanges: number;
}

/**
 * Attempts at the same time: five at first, one more with each success, one for a degraded queue. Measured: outcomes of
 * attempts in flight share a commit, so 64 deliver three times as much as 16.
 */
const WIDTH_AT_FIRST = 5;
const WIDTH_AT_MOST = 64;
const QUEUED_NEW = 5;
const QUEUED_HEALTHY = 100;
const QUEUED_ORDERED = 20;

export function newQueue(target: DeliveryTarget, readAt: number, usage: Usage): Queue {
  return {
    target,
    usage,
    readAt,
    items: [],
    running: new Set(),
    addressChanges: 0,
    runsAtOldAddress: 0,
    health: 'new',
    width: WIDTH_AT_FIRST,
    holdUntil: 0,
    nextAt: 0,
    more: false,
    timer: undefined,
    refreshing: false,
    stale: false,
  };
}

/** The queue of a subscription that has none in this process. */
export const UNKNOWN_QUEUE = newQueue(
  {
    subscriptionId: '',
    environment: 'development',
    owner: '',
    active: true,
    address: '',
    scope: '',
    connectionId: null,
    headers: {},
    keys: [],
    secrets: [],
    ordered: false,
    ratePerSecond: null,
    holdUntil: 0,
  },
  0,
  emptyUsage(),
);

/** Returns how many attempts may run at the same time. */
export function concurrencyOf(queue: Queue): number {
  return queue.health === 'degraded' || queue.target.ordered ? 1 : queue.width;
}

/** Replaces the target. A new address resets the queue's health. */
export function retarget(queue: Queue, target: DeliveryTarget): void {
  if (target.address !== queue.target.address) {
    queue.holdUntil = 0;
    queue.health = 'new';
    queue.width = WIDTH_AT_FIRST;
    queue.addressChanges++;
    queue.runsAtOldAddress = queue.running.size;
  }
  queue.target = target;
}

/** Counts the running attempts that limit the next one. Attempts at an old address count only in an ordered queue. */
export function underWay({ running, runsAtOldAddress, target }: Queue): number {
  return target.ordered ? running.size : running.size - runsAtOldAddress;
}

/** Removes an ended run. */
export function end(queue: Queue, run: Run): void {
  if (queue.running.delete(run) && run.addressChanges !== queue.addressChanges) queue.runsAtOldAddress--;
}

/** Updates the queue's health from an outcome. `soon`: the answer was not slow. Ignores outcomes of an old address. */
export function updateHealth(
  queue: Queue,
  { target, verdict, holdUntil }: AttemptOutcome,
  soon: boolean,
): void {
  if (target.address !== queue.target.address) return;
  queue.holdUntil = Math.max(queue.holdUntil, holdUntil);
  queue.health = verdict === 'succeeded' && soon ? 'healthy' : 'degraded';
  queue.width = queue.health === 'healthy' ? Math.min(WIDTH_AT_MOST, queue.width + 1) : WIDTH_AT_FIRST;
}

/** Returns when the next attempt may begin, epoch ms. */
export function slotOf({ nextAt }: Queue, { notBefore }: Item, now: number): number {
  return Math.max(slotAt(notBefore, now), slotAt(nextAt, now));
}

/**
 * Returns how many more deliveries the queue may take. A degraded queue takes one at a time; otherwise leases would expire
 * unused.
 */
export function spaceIn(queue: Queue): number {
  const { items, target, health } = queue;
  const isFree = items.length + underWay(queue) === 0;
  if (health === 'degraded') return isFree ? 1 : 0;
  // An ordered queue takes more only when it is empty, because the store knows which delivery is next.
  if (target.ordered) return isFree ? QUEUED_ORDERED : 0;
  return (health === 'healthy' ? QUEUED_HEALTHY : QUEUED_NEW) - items.length;
}

/** Returns whether publish() may hand off deliveries: none waits in the store before them, and no pace applies. */
export function takesHandoffs(queue: Queue, target: DeliveryTarget, now: number): boolean {
  const isOpen = !isPaced(target) && queue.health !== 'degraded' && !queue.more;
  return isOpen && queue.holdUntil <= now && target.holdUntil <= now;
}

/** Returns whether the receiver asked for a pause that has not ended. */
export function isOnHold({ holdUntil, target }: Queue, now: number): boolean {
  return holdUntil > now || target.holdUntil > now;
}

/** Returns whether the queue holds nothing, so that deleting it loses no state. */
export function isIdle(queue: Queue, now: number): boolean {
  const { items, running, health, more } = queue;
  return items.length + running.size === 0 && health !== 'degraded' && !more && queue.holdUntil <= now;
}

/** Returns whether order or rate limit the deliveries. */
export function isPaced({ ordered, ratePerSecond }: DeliveryTarget): boolean {
  return ordered || ratePerSecond !== null;
}
