import { Crowd } from '../lib/crowd.ts';
import type { Stop } from '../lib/stop.ts';
import { slotAt, type Item } from './claim.ts';
import { emptyShare, type Share } from './capacity.ts';
import type { Outcome } from './outcome.ts';
import type { Target } from './target.ts';

/**
 * One subscription's way out of this process. What is slow or fails there keeps its own lane: it becomes a suspect, of
 * which one delivery at a time goes out, and out of another pool than those of lanes in good standing.
 */
export interface Lane {
  target: Target;
  /** What its owner takes of this process. */
  readonly share: Share;
  /** When the target was read (epoch milliseconds). */
  readAt: number;
  queue: Item[];
  running: Crowd<Run>;
  /** How often its address changed, and how many of those running began at one of before. */
  moves: number;
  left: number;
  /** Answered well once: its share of memory may be larger. */
  proven: boolean;
  suspect: boolean;
  /** Attempts at once while it is in good standing. */
  width: number;
  /** The receiver asked this process to leave it alone until then; the target knows what it asked others. */
  holdUntil: number;
  /** With a rate: the next attempt may begin then. Slots that passed while it was at its width are not made up for. */
  nextAt: number;
  /** The store may have more for it. */
  more: boolean;
  /** Waits for the slot of its rate. */
  timer: NodeJS.Timeout | undefined;
  /** The target is being read; and whether it changed since that began. */
  refreshing: boolean;
  stale: boolean;
}

export interface Run {
  item: Item;
  ended: Stop;
  /** Whether it counts among the slow ones. */
  slow: boolean;
  /** Those of its lane as it began: at which address it is. */
  moves: number;
  /** See Crowd. */
  place: number;
}

/**
 * Attempts at once: five at first, one more with each good answer, one for a suspect. Measured: what is in flight together
 * shares its commit, so that 64 deliver three times as much as 16.
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

/** A lane that nothing is known of. */
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

/** How many attempts may run at once. */
export function concurrencyOf(lane: Lane): number {
  return lane.suspect || lane.target.ordered ? 1 : lane.width;
}

/** Where it goes from now on: a new address begins with a clean slate. */
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

/** Attempts under way that the next one waits for: an order is kept, but what hangs at an old address holds up nothing else. */
export function underWay({ running, left, target }: Lane): number {
  return target.ordered ? running.size : running.size - left;
}

/** Notes that a run has ended. */
export function end(lane: Lane, run: Run): void {
  if (lane.running.delete(run) && run.moves !== lane.moves) lane.left--;
}

/** Takes note of how a receiver answered: well and soon, or not. What an old address says late is nothing to the new one. */
export function judge(lane: Lane, { target, verdict, holdUntil }: Outcome, soon: boolean): void {
  if (target.address !== lane.target.address) return;
  lane.holdUntil = Math.max(lane.holdUntil, holdUntil);
  const well = verdict === 'succeeded';
  lane.suspect = !well || !soon;
  lane.proven = well;
  lane.width = lane.suspect ? WIDTH_AT_FIRST : Math.min(WIDTH_AT_MOST, lane.width + 1);
}

/** When the next one may begin. */
export function slotOf({ nextAt }: Lane, { notBefore }: Item, now: number): number {
  return Math.max(slotAt(notBefore, now), slotAt(nextAt, now));
}

/** How many more deliveries it may be given. A suspect gets one at a time, so that its leases do not run out unused. */
export function roomOf(lane: Lane): number {
  const { queue, target, suspect, proven } = lane;
  const isFree = queue.length + underWay(lane) === 0;
  if (suspect) return isFree ? 1 : 0;
  // What follows in an order is taken when all before it is done: the store says which that is.
  if (target.ordered) return isFree ? QUEUED_ORDERED : 0;
  return (proven ? QUEUED_PROVEN : QUEUED_UNPROVEN) - queue.length;
}

/** Whether publish may hand deliveries over with no look at the store: nothing is before them, and nothing paces them. */
export function takesOffers(lane: Lane, target: Target, now: number): boolean {
  return !isPaced(target) && !lane.suspect && !lane.more && lane.holdUntil <= now && target.holdUntil <= now;
}

/** Whether the receiver asked for nothing at all for a while. */
export function isHeld({ holdUntil, target }: Lane, now: number): boolean {
  return holdUntil > now || target.holdUntil > now;
}

/** Whether nothing is lost with it. */
export function isIdle(lane: Lane, now: number): boolean {
  const { queue, running, suspect, more } = lane;
  return queue.length + running.size === 0 && !suspect && !more && lane.holdUntil <= now;
}

export function isPaced({ ordered, ratePerSecond }: Target): boolean {
  return ordered || ratePerSecond !== null;
}
