import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import type { Context } from '../context.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import type { Outbound } from '../lib/outbound.ts';
import { TimerAfterSending } from '../lib/sending.ts';
import { Stop } from '../lib/stop.ts';
import type { Tables } from '../store/schema.ts';
import { attempt } from './attempt.ts';
import { claim, dueSubscriptions, TIMING, wishesFor, type Item, type Timing, withoutHeld } from './claim.ts';
import {
  concurrencyOf,
  end,
  isHeld,
  isIdle,
  judge,
  newLane,
  NOBODY,
  retarget,
  roomOf,
  slotOf,
  takesOffers,
  underWay,
  type Lane,
  type Run,
} from './queue.ts';
import { createOffers } from './handoffs.ts';
import { createOutcomes } from './outcome-commits.ts';
import { createReleases } from './releases.ts';
import { startSweeps, type Sweep } from './sweeps.ts';
import { Held, Room } from './capacity.ts';
import type { Outcome } from './outcome.ts';
import { readTargets, type Target } from './target.ts';

/** A delivery that publish() has not inserted yet, without lease. */
export type NewItem = Omit<Item, 'token' | 'until' | 'notBefore' | 'place' | 'share'>;

/** Hands off deliveries of one subscription, which an open transaction inserts, to this process. */
export interface Offer {
  /** Returns the lease to insert the delivery with; undefined when the delivery must wait in the store. */
  take(item: NewItem): { token: string; until: number } | undefined;
}

/** Sends the deliveries of the outbox between start() and close(). Outside that time they wait in the store. */
export interface Deliverer {
  /** Looks for due deliveries. Call it after each commit that published events or made deliveries due. */
  wake(): void;
  /** Does the same for callers that know the transaction: its handoffs are sent without a query. */
  committed(tx: Transaction<Tables>): void;
  /** Reads a changed subscription again. Attempts to a disabled or deleted one are aborted. */
  changed(subscriptionId: string): void;
  /** Prepares handoffs from `tx`; undefined when this process does not send now or the subscription is disabled. */
  offer(tx: Transaction<Tables>, target: Target): Offer | undefined;
  start(): void;
  /** Stops claiming, waits at most 20 s for running attempts, and releases the other deliveries. */
  close(): Promise<void>;
}

type DeliverContext = Pick<Context, 'db' | 'store' | 'clock' | 'keys' | 'log'>;

/** Interval of the polls that find deliveries made due by time or by another process. */
const POLL_MS = SECOND;
const SCAN_GAP_MS = 50;
const DRAIN_MS = 20 * SECOND;
/** How long a cached target is used before it is read again. */
const KEPT_MS = 500;
/** An attempt that takes longer marks its queue as degraded and leaves the capacity of healthy queues. */
const SLOW_MS = SECOND;
/** Subscriptions claimed at once. SQLite blocks the event loop during the claim: 1 ms when each begins an attempt. */
const CLAIMED_AT_ONCE = 4;
/** Pause between two claims, as a multiple of the last one's duration, while new events arrive. They are not delayed. */
const LEFT_TO_OTHERS = 3;

export function createDeliverer(
  context: DeliverContext,
  {
    outbound,
    scheduleMs,
    timing = TIMING,
    sweeps = [],
  }: {
    outbound: Outbound;
    scheduleMs: readonly number[];
    timing?: Timing;
    /** Further sweeps, which run with those of old events. */
    sweeps?: readonly Sweep[];
  },
): Deliverer {
  const { attemptMs, leaseMs } = timing;
  const leastMs = attemptMs + timing.marginMs;
  if (leaseMs <= leastMs) throw new Error('The lease must be longer than an attempt and its margin.');
  const { db, clock, log } = context;
  const attempts = { clock, scheduleMs, outbound, attemptMs };
  /** Lease token of this process. */
  const token = randomUUID();
  const lanes = new Map<string, Lane>();
  const offers = createOffers(context, ({ target, items }) => {
    if (state === 'running') pump(enqueue(target, items));
    else releases.add(items);
  });
  const room = new Room();
  const held = new Held(room);
  const releases = createReleases(context, { token, held });
  /** Queues that wait for capacity to begin an attempt. */
  const stalled = new Set<Lane>();
  /** Queues that may claim more from the store. */
  const hungry = new Set<Lane>();
  let state: 'idle' | 'running' | 'closing' | 'closed' = 'idle';
  let scanWanted = false;
  let scannedAt = -Infinity;
  /** A handoff was refused since the last scan, so deliveries may wait in the store. */
  let unoffered = false;
  /** A step was skipped, because an outcome was not stored. */
  let heldBack = false;
  let claiming: Promise<void> | undefined;
  let scanTimer: NodeJS.Timeout | undefined;
  let timers: NodeJS.Timeout[] = [];

  // ---- From the store into queues

  const laneOf = (target: Target): Lane => {
    let lane = lanes.get(target.subscriptionId);
    if (!lane) {
      lane = newLane(target, clock.now(), room.shareOf(target.owner));
      lanes.set(target.subscriptionId, lane);
    }
    retarget(lane, target);
    lane.readAt = clock.now();
    return lane;
  };

  const enqueue = (target: Target, items: readonly Item[]): Lane => {
    const lane = laneOf(target);
    for (const item of items) {
      held.add(item);
      lane.queue.push(item);
    }
    room.take(lane.share, 'queued', items.length);
    return lane;
  };

  const claimDue = async (): Promise<void> => {
    for (;;) {
      if (state !== 'running' || isHeldBack()) return;
      const scan = scanWanted && performance.now() - scannedAt >= SCAN_GAP_MS;
      const wanted = new Set(takeHungry());
      if (scan) {
        scanWanted = false;
        unoffered = false;
        scannedAt = performance.now();
        for (const id of await dueSubscriptions(context)) wanted.add(id);
        if (wanted.size > 0) await nextTurn();
      }
      const ids = [...wanted].filter((id) => appetiteFor(id) > 0);
      let begunAt = 0;
      for (let at = 0; at < ids.length; at += CLAIMED_AT_ONCE) {
        const now = performance.now();
        if (at > 0 && now - offers.lastAt < SECOND) await sleep(LEFT_TO_OTHERS * (now - begunAt));
        if (state !== 'running') return;
        begunAt = performance.now();
        // Queues that drained during the loop are claimed first. Capacity is recomputed on each turn.
        const turn = new Set([...takeHungry(CLAIMED_AT_ONCE), ...ids.slice(at, at + CLAIMED_AT_ONCE)]);
        const wishes = wishesFor([...turn], appetiteFor, room.left('queued'));
        const fed = withoutHeld(held, await claim(context, { token, leaseMs, room }, wishes));
        for (const { target, items, more } of fed) enqueue(target, items).more = more;
        for (const { target } of fed) {
          await nextTurn();
          const lane = lanes.get(target.subscriptionId);
          if (lane) pump(lane);
        }
      }
      if (hungry.size === 0) return;
    }
  };

  const takeHungry = (most = hungry.size): string[] => {
    const taken = [...hungry].slice(0, most);
    for (const lane of taken) hungry.delete(lane);
    return taken.map((lane) => lane.target.subscriptionId);
  };

  const appetiteFor = (subscriptionId: string): number => {
    const lane = lanes.get(subscriptionId);
    return lane ? appetite(lane) : roomOf(NOBODY);
  };

  const appetite = (lane: Lane): number =>
    isHeld(lane, clock.now()) || !room.has(lane.share, 'queued') || !room.has(lane.share, 'chars')
      ? 0
      : roomOf(lane);

  const hasPlace = (lane: Lane): boolean => room.has(lane.share, lane.suspect ? 'slow' : 'fast');

  const kick = (): void => {
    if (state !== 'running' || isHeldBack()) return;
    if (scanWanted) {
      const waitMs = SCAN_GAP_MS - (performance.now() - scannedAt);
      if (waitMs > 0) {
        scanTimer ??= setTimeout(() => {
          scanTimer = undefined;
          kick();
        }, waitMs);
        if (hungry.size === 0) return;
      }
    } else if (hungry.size === 0) return;
    claiming ??= claimDue()
      .catch((error: unknown) => log.error({ err: error }, 'deliveries not claimed'))
      .finally(() => {
        claiming = undefined;
        if (hungry.size > 0 || scanWanted) kick();
      });
  };

  // ---- From queues to receivers

  const pump = (lane: Lane): void => {
    const now = clock.now();
    while (lane.queue.length > 0) {
      const [item] = lane.queue;
      if (!item || state !== 'running' || isHeldBack()) return;
      if (underWay(lane) >= concurrencyOf(lane)) return;
      if (isHeld(lane, now) || item.until - now < leastMs) {
        giveBack(lane);
        return;
      }
      if (now - lane.readAt > KEPT_MS) return refresh(lane);
      const slot = slotOf(lane, item, now);
      if (slot > now) return waitForSlot(lane, slot - now);
      if (!hasPlace(lane)) {
        stalled.add(lane);
        return;
      }
      lane.queue.shift();
      room.giveBack(lane.share, 'queued');
      if (lane.target.ratePerSecond !== null) lane.nextAt = now + SECOND / lane.target.ratePerSecond;
      void begin(lane, item);
    }
    if (lane.more && appetite(lane) > 0) {
      lane.more = false;
      hungry.add(lane);
      kick();
    }
  };

  const begin = async (lane: Lane, item: Item): Promise<void> => {
    const run: Run = { item, ended: new Stop(), slow: lane.suspect, moves: lane.moves, place: -1 };
    lane.running.add(run);
    room.take(lane.share, run.slow ? 'slow' : 'fast');
    const attempting = attempt(attempts, lane.target, item, run.ended);
    const slowness = new TimerAfterSending(() => {
      // If the slow attempts are at capacity, the attempt stays among the fast ones. So hanging attempts are limited.
      run.slow ||= room.move(lane.share, 'fast', 'slow');
      if (run.moves === lane.moves) {
        lane.suspect = true;
        giveBack(lane);
      }
      pumpStalled();
    }, SLOW_MS);
    const outcome = await attempting;
    slowness.clear();
    room.giveBack(lane.share, run.slow ? 'slow' : 'fast');
    end(lane, run);
    if (outcome) finish(lane, outcome);
    else held.delete(item);
    // Queues that wait for capacity start before this one.
    pumpStalled();
    pump(lane);
  };

  const finish = (lane: Lane, outcome: Outcome): void => {
    const { item, target } = outcome;
    judge(lane, outcome, outcome.durationMs < SLOW_MS);
    if (lane.suspect) giveBack(lane);
    const written = write(outcome);
    if (target.ordered) {
      // The next delivery begins after this outcome is stored; otherwise a crash could send this one again after it.
      const writing: Run = { item, ended: new Stop(), slow: false, moves: lane.moves, place: -1 };
      lane.running.add(writing);
      void written.finally(() => {
        end(lane, writing);
        lane.more = true;
        pump(lane);
      });
    }
  };

  const write = async (outcome: Outcome): Promise<void> => {
    const disabled = await outcomes.write(outcome);
    if (!outcomes.unwritten.has(outcome.item.deliveryId)) held.delete(outcome.item);
    if (disabled) changed(outcome.target.subscriptionId);
    if (heldBack && outcomes.unwritten.size === 0) {
      heldBack = false;
      pumpAll();
      kick();
    }
  };

  /** Returns whether unstored outcomes forbid new attempts. If so, write() starts attempts and claims again later. */
  const isHeldBack = (): boolean => {
    if (outcomes.unwritten.size === 0) return false;
    heldBack = true;
    return true;
  };

  const pumpAll = (): void => {
    for (const lane of lanes.values()) if (lane.queue.length > 0) pump(lane);
  };

  const pumpStalled = (): void => {
    for (const lane of stalled) {
      if (!hasPlace(lane)) continue;
      stalled.delete(lane);
      pump(lane);
    }
  };

  const waitForSlot = (lane: Lane, delayMs: number): void => {
    lane.timer ??= setTimeout(() => {
      lane.timer = undefined;
      pump(lane);
    }, delayMs);
  };

  /** Releases the deliveries of a queue that have not begun. They are claimed again from the store. */
  const giveBack = (lane: Lane): void => {
    const items = lane.queue.splice(0);
    if (items.length === 0) return;
    room.giveBack(lane.share, 'queued', items.length);
    releases.add(items);
  };

  // ---- Subscriptions that change

  const refresh = (lane: Lane): void => {
    if (lane.refreshing) return;
    lane.refreshing = true;
    lane.stale = false;
    const { subscriptionId } = lane.target;
    void readTargets(db, context, [subscriptionId])
      .then(([target]) => (target?.active ? retarget(lane, target) : cancel(lane)))
      .catch((error: unknown) => log.error({ err: error, subscriptionId }, 'subscription not read'))
      .finally(() => {
        lane.refreshing = false;
        lane.readAt = clock.now();
        if (lane.stale) refresh(lane);
        else if (lanes.has(subscriptionId)) pump(lane);
      });
  };

  const cancel = (lane: Lane): void => {
    lanes.delete(lane.target.subscriptionId);
    stalled.delete(lane);
    hungry.delete(lane);
    clearTimeout(lane.timer);
    const items = lane.queue.splice(0);
    for (const item of items) held.delete(item);
    room.giveBack(lane.share, 'queued', items.length);
    for (const run of lane.running) run.ended.abort();
  };

  const changed = (subscriptionId: string): void => {
    const lane = lanes.get(subscriptionId);
    if (!lane) return;
    lane.stale = true;
    refresh(lane);
  };

  const forgetIdleLanes = (): void => {
    for (const [id, lane] of lanes) {
      if (isIdle(lane, clock.now()) && clock.now() - lane.readAt > MINUTE) lanes.delete(id);
    }
    room.keep(new Set([...lanes.values()].map((lane) => lane.target.owner)));
  };

  const deliverer: Deliverer = {
    wake() {
      if (offers.size === 0 || unoffered) scanWanted = true;
      offers.look();
      kick();
    },
    committed(tx) {
      offers.committed(tx);
      if (unoffered) scanWanted = true;
      kick();
    },
    changed,
    offer(tx, target) {
      if (state !== 'running' || !target.active) return undefined;
      const lane = lanes.get(target.subscriptionId);
      const now = clock.now();
      const open = lane ? takesOffers(lane, target, now) : takesOffers(NOBODY, target, now);
      const share = lane?.share ?? room.shareOf(target.owner);
      return {
        take(item) {
          const free = roomOf(lane ?? NOBODY) - offers.waitingFor(target.subscriptionId);
          const fits = room.has(share, 'queued') && room.has(share, 'chars', item.body.length);
          if (!open || free <= 0 || !fits) {
            if (!lane?.suspect) unoffered = true;
            return undefined;
          }
          const until = clock.now() + leaseMs;
          offers.add(tx, target, { ...item, token, until, notBefore: 0, place: -1, share });
          return { token, until };
        },
      };
    },
    start() {
      if (state !== 'idle') return;
      state = 'running';
      const poll = setInterval(() => {
        scanWanted = true;
        forgetIdleLanes();
        pumpAll();
        offers.look();
        kick();
      }, POLL_MS);
      timers = [poll, startSweeps(context, sweeps)];
      scanWanted = true;
      kick();
    },
    async close() {
      if (state !== 'running') return;
      state = 'closing';
      for (const timer of timers) clearInterval(timer);
      clearTimeout(scanTimer);
      await Promise.all([claiming, offers.idle()]);
      for (const lane of lanes.values()) {
        clearTimeout(lane.timer);
        giveBack(lane);
      }
      const until = performance.now() + DRAIN_MS;
      while (room.taken('fast') + room.taken('slow') > 0 && performance.now() < until) await sleep(10);
      for (const lane of lanes.values()) for (const run of lane.running) run.ended.abort();
      await outcomes.close();
      state = 'closed';
      releases.add([...held].filter(({ deliveryId }) => !outcomes.unwritten.has(deliveryId)));
      // Releases handoffs of transactions that were open. A later commit reports itself through committed().
      offers.look();
      await offers.idle();
      // The caller closes the store next. Deliveries that are not released by then wait until their leases expire.
      await releases.idle();
    },
  };
  const outcomes = createOutcomes({ ...context, deliverer });
  return deliverer;
}
