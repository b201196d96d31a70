import { Crowd } from '../lib/crowd.ts';
import type { Stop } from '../lib/stop.ts';
import { slotAt, type Item } from './claim.ts';
import { emptyShare, type Share } from './capacity.ts';
import type { Outcome } from './outcome.ts';
import type { Target } from './target.ts';

/**
 * The deliveries of one subscription in this process. A slow or failed attempt makes the queue degraded. A degraded queue
 * sends one delivery at a time, from a capacity of its own, so it does not delay healthy queues.
 */
export interface Lane {
  target: Target;
  /** Usage of the queue's owner. */
  readonly share: Share;
  /** When the target was read (epoch milliseconds). */
  readAt: number;
  queue: Item[];
  running: Crowd<Run>;
  /** Number of address changes. */
  moves: number;
  /** Number of running attempts that began at an earlier address. */
  left: number;
  /** Whether the last attempt succeeded. A healthy queue may hold more deliveries in memory. */
  proven: boolean;
  /** Whether the last attempt failed or was slow. */
  suspect: boolean;
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
  ended: Stop;
  /** Whether the attempt counts as slow in the owner's usage. */
  slow: boolean;
  /** Number of address changes of the queue when the run began. */
  moves: number;
  /** Position in its set (lib/crowd.ts). */
  place: number;
}

/**
 * Attempts at the same time: five at first, one more with each success, one for a degraded queue. Measured: outcomes of
 * attempts in flight share a commit, so 64 deliver three times as much as 16.
 */
const WIDTH_AT_FIRST = 5;
const WIDTH_AT_MOST = 64;
const QUEUED_UNPROVEN = 5;
const QUEUED_PROVEN = 100;
const QUEUED_ORDERED = 20;

export function newLane(target: Target, readAt: number, share: Share): Lane {
  return {
    target,
    share,
    readAt,
    queue: [],
    running: new Crowd(),
    moves: 0,
    left: 0,
    proven: false,
    suspect: false,
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
export const NOBODY = newLane(
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
  emptyShare(),
);

/** Returns how many attempts may run at the same time. */
export function concurrencyOf(lane: Lane): number {
  return lane.suspect || lane.target.ordered ? 1 : lane.width;
}

/** Replaces the target. A new address resets the queue's health. */
export function retarget(lane: Lane, target: Target): void {
  if (target.address !== lane.target.address) {
    lane.holdUntil = 0;
    lane.suspect = false;
    lane.proven = false;
    lane.width = WIDTH_AT_FIRST;
    lane.moves++;
    lane.left = lane.running.size;
  }
  lane.target = target;
}

/** Counts the running attempts that limit the next one. Attempts at an old address count only in an ordered queue. */
export function underWay({ running, left, target }: Lane): number {
  return target.ordered ? running.size : running.size - left;
}

/** Removes an ended run. */
export function end(lane: Lane, run: Run): void {
  if (lane.running.delete(run) && run.moves !== lane.moves) lane.left--;
}

/** Updates the queue's health from an outcome. `soon`: the answer was not slow. Ignores outcomes of an old address. */
export function judge(lane: Lane, { target, verdict, holdUntil }: Outcome, soon: boolean): void {
  if (target.address !== lane.target.address) return;
  lane.holdUntil = Math.max(lane.holdUntil, holdUntil);
  const well = verdict === 'succeeded';
  lane.suspect = !well || !soon;
  lane.proven = well;
  lane.width = lane.suspect ? WIDTH_AT_FIRST : Math.min(WIDTH_AT_MOST, lane.width + 1);
}

/** Returns when the next attempt may begin, epoch ms. */
export function slotOf({ nextAt }: Lane, { notBefore }: Item, now: number): number {
  return Math.max(slotAt(notBefore, now), slotAt(nextAt, now));
}

/**
 * Returns how many more deliveries the queue may take. A degraded queue takes one at a time; otherwise leases would expire
 * unused.
 */
export function roomOf(lane: Lane): number {
  const { queue, target, suspect, proven } = lane;
  const isFree = queue.length + underWay(lane) === 0;
  if (suspect) return isFree ? 1 : 0;
  // An ordered queue takes more only when it is empty, because the store knows which delivery is next.
  if (target.ordered) return isFree ? QUEUED_ORDERED : 0;
  return (proven ? QUEUED_PROVEN : QUEUED_UNPROVEN) - queue.length;
}

/** Returns whether publish() may hand off deliveries: none waits in the store before them, and no pace applies. */
export function takesOffers(lane: Lane, target: Target, now: number): boolean {
  return !isPaced(target) && !lane.suspect && !lane.more && lane.holdUntil <= now && target.holdUntil <= now;
}

/** Returns whether the receiver asked for a pause that has not ended. */
export function isHeld({ holdUntil, target }: Lane, now: number): boolean {
  return holdUntil > now || target.holdUntil > now;
}

/** Returns whether the queue holds nothing, so that deleting it loses no state. */
export function isIdle(lane: Lane, now: number): boolean {
  const { queue, running, suspect, more } = lane;
  return queue.length + running.size === 0 && !suspect && !more && lane.holdUntil <= now;
}

/** Returns whether order or rate limit the deliveries. */
export function isPaced({ ordered, ratePerSecond }: Target): boolean {
  return ordered || ratePerSecond !== null;
}
