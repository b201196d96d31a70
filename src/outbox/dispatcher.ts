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
import {
  claim,
  dueSubscriptions,
  TIMING,
  claimRequests,
  type Item,
  type Timing,
  withoutHeld,
} from './claim.ts';
import {
  concurrencyOf,
  end,
  isOnHold,
  isIdle,
  updateHealth,
  newQueue,
  UNKNOWN_QUEUE,
  retarget,
  spaceIn,
  slotOf,
  takesHandoffs,
  underWay,
  type Queue,
  type Run,
} from './queue.ts';
import { createHandoffs } from './handoffs.ts';
import { createOutcomes } from './outcome-commits.ts';
import { createReleases } from './releases.ts';
import { startSweeps, type Sweep } from './sweeps.ts';
import { Held, Capacity } from './capacity.ts';
import type { Outcome } from './outcome.ts';
import { readTargets, type Target } from './target.ts';

/** A delivery that publish() has not inserted yet, without lease. */
export type NewItem = Omit<Item, 'token' | 'until' | 'notBefore' | 'place' | 'usage'>;

/** Hands off deliveries of one subscription, which an open transaction inserts, to this process. */
export interface Handoff {
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
  handoff(tx: Transaction<Tables>, target: Target): Handoff | undefined;
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
  const queues = new Map<string, Queue>();
  const handoffs = createHandoffs(context, ({ target, items }) => {
    if (state === 'running') startAttempts(enqueue(target, items));
    else releases.add(items);
  });
  const capacity = new Capacity();
  const held = new Held(capacity);
  const releases = createReleases(context, { token, held });
  /** Queues that wait for capacity to begin an attempt. */
  const waitingForCapacity = new Set<Queue>();
  /** Queues that may claim more from the store. */
  const needsMore = new Set<Queue>();
  let state: 'idle' | 'running' | 'closing' | 'closed' = 'idle';
  let scanWanted = false;
  let scannedAt = -Infinity;
  /** A handoff was refused since the last scan, so deliveries may wait in the store. */
  let handoffRefused = false;
  /** A step was skipped, because an outcome was not stored. */
  let heldBack = false;
  let claiming: Promise<void> | undefined;
  let scanTimer: NodeJS.Timeout | undefined;
  let timers: NodeJS.Timeout[] = [];

  // ---- From the store into queues

  const queueOf = (target: Target): Queue => {
    let queue = queues.get(target.subscriptionId);
    if (!queue) {
      queue = newQueue(target, clock.now(), capacity.usageOf(target.owner));
      queues.set(target.subscriptionId, queue);
    }
    retarget(queue, target);
    queue.readAt = clock.now();
    return queue;
  };

  const enqueue = (target: Target, items: readonly Item[]): Queue => {
    const queue = queueOf(target);
    for (const item of items) {
      held.add(item);
      queue.items.push(item);
    }
    capacity.take(queue.usage, 'queued', items.length);
    return queue;
  };

  const claimDue = async (): Promise<void> => {
    for (;;) {
      if (state !== 'running' || isHeldBack()) return;
      const scan = scanWanted && performance.now() - scannedAt >= SCAN_GAP_MS;
      const wanted = new Set(takeNeedsMore());
      if (scan) {
        scanWanted = false;
        handoffRefused = false;
        scannedAt = performance.now();
        for (const id of await dueSubscriptions(context)) wanted.add(id);
        if (wanted.size > 0) await nextTurn();
      }
      const ids = [...wanted].filter((id) => freeSlotsOf(id) > 0);
      let begunAt = 0;
      for (let at = 0; at < ids.length; at += CLAIMED_AT_ONCE) {
        const now = performance.now();
        if (at > 0 && now - handoffs.lastAt < SECOND) await sleep(LEFT_TO_OTHERS * (now - begunAt));
        if (state !== 'running') return;
        begunAt = performance.now();
        // Queues that drained during the loop are claimed first. Capacity is recomputed on each turn.
        const turn = new Set([...takeNeedsMore(CLAIMED_AT_ONCE), ...ids.slice(at, at + CLAIMED_AT_ONCE)]);
        const requests = claimRequests([...turn], freeSlotsOf, capacity.free('queued'));
        const claims = withoutHeld(held, await claim(context, { token, leaseMs, capacity }, requests));
        for (const { target, items, more } of claims) enqueue(target, items).more = more;
        for (const { target } of claims) {
          await nextTurn();
          const queue = queues.get(target.subscriptionId);
          if (queue) startAttempts(queue);
        }
      }
      if (needsMore.size === 0) return;
    }
  };

  const takeNeedsMore = (most = needsMore.size): string[] => {
    const taken = [...needsMore].slice(0, most);
    for (const queue of taken) needsMore.delete(queue);
    return taken.map((queue) => queue.target.subscriptionId);
  };

  const freeSlotsOf = (subscriptionId: string): number => {
    const queue = queues.get(subscriptionId);
    return queue ? freeSlots(queue) : spaceIn(UNKNOWN_QUEUE);
  };

  const freeSlots = (queue: Queue): number =>
    isOnHold(queue, clock.now()) ||
    !capacity.has(queue.usage, 'queued') ||
    !capacity.has(queue.usage, 'chars')
      ? 0
      : spaceIn(queue);

  const hasCapacity = (queue: Queue): boolean => capacity.has(queue.usage, queue.degraded ? 'slow' : 'fast');

  const scheduleClaim = (): void => {
    if (state !== 'running' || isHeldBack()) return;
    if (scanWanted) {
      const waitMs = SCAN_GAP_MS - (performance.now() - scannedAt);
      if (waitMs > 0) {
        scanTimer ??= setTimeout(() => {
          scanTimer = undefined;
          scheduleClaim();
        }, waitMs);
        if (needsMore.size === 0) return;
      }
    } else if (needsMore.size === 0) return;
    claiming ??= claimDue()
      .catch((error: unknown) => log.error({ err: error }, 'deliveries not claimed'))
      .finally(() => {
        claiming = undefined;
        if (needsMore.size > 0 || scanWanted) scheduleClaim();
      });
  };

  // ---- From queues to receivers

  const startAttempts = (queue: Queue): void => {
    const now = clock.now();
    while (queue.items.length > 0) {
      const [item] = queue.items;
      if (!item || state !== 'running' || isHeldBack()) return;
      if (underWay(queue) >= concurrencyOf(queue)) return;
      if (isOnHold(queue, now) || item.until - now < leastMs) {
        releaseQueue(queue);
        return;
      }
      if (now - queue.readAt > KEPT_MS) return refresh(queue);
      const slot = slotOf(queue, item, now);
      if (slot > now) return waitForSlot(queue, slot - now);
      if (!hasCapacity(queue)) {
        waitingForCapacity.add(queue);
        return;
      }
      queue.items.shift();
      capacity.release(queue.usage, 'queued');
      if (queue.target.ratePerSecond !== null) queue.nextAt = now + SECOND / queue.target.ratePerSecond;
      void begin(queue, item);
    }
    if (queue.more && freeSlots(queue) > 0) {
      queue.more = false;
      needsMore.add(queue);
      scheduleClaim();
    }
  };

  const begin = async (queue: Queue, item: Item): Promise<void> => {
    const run: Run = {
      item,
      ended: new Stop(),
      slow: queue.degraded,
      addressChanges: queue.addressChanges,
      place: -1,
    };
    queue.running.add(run);
    capacity.take(queue.usage, run.slow ? 'slow' : 'fast');
    const attempting = attempt(attempts, queue.target, item, run.ended);
    const slowness = new TimerAfterSending(() => {
      // If the slow attempts are at capacity, the attempt stays among the fast ones. So hanging attempts are limited.
      run.slow ||= capacity.move(queue.usage, 'fast', 'slow');
      if (run.addressChanges === queue.addressChanges) {
        queue.degraded = true;
        releaseQueue(queue);
      }
      startWaitingQueues();
    }, SLOW_MS);
    const outcome = await attempting;
    slowness.clear();
    capacity.release(queue.usage, run.slow ? 'slow' : 'fast');
    end(queue, run);
    if (outcome) finish(queue, outcome);
    else held.delete(item);
    // Queues that wait for capacity start before this one.
    startWaitingQueues();
    startAttempts(queue);
  };

  const finish = (queue: Queue, outcome: Outcome): void => {
    const { item, target } = outcome;
    updateHealth(queue, outcome, outcome.durationMs < SLOW_MS);
    if (queue.degraded) releaseQueue(queue);
    const written = write(outcome);
    if (target.ordered) {
      // The next delivery begins after this outcome is stored; otherwise a crash could send this one again after it.
      const writing: Run = {
        item,
        ended: new Stop(),
        slow: false,
        addressChanges: queue.addressChanges,
        place: -1,
      };
      queue.running.add(writing);
      void written.finally(() => {
        end(queue, writing);
        queue.more = true;
        startAttempts(queue);
      });
    }
  };

  const write = async (outcome: Outcome): Promise<void> => {
    const disabled = await outcomes.write(outcome);
    if (!outcomes.unwritten.has(outcome.item.deliveryId)) held.delete(outcome.item);
    if (disabled) changed(outcome.target.subscriptionId);
    if (heldBack && outcomes.unwritten.size === 0) {
      heldBack = false;
      startAllAttempts();
      scheduleClaim();
    }
  };

  /** Returns whether unstored outcomes forbid new attempts. If so, write() starts attempts and claims again later. */
  const isHeldBack = (): boolean => {
    if (outcomes.unwritten.size === 0) return false;
    heldBack = true;
    return true;
  };

  const startAllAttempts = (): void => {
    for (const queue of queues.values()) if (queue.items.length > 0) startAttempts(queue);
  };

  const startWaitingQueues = (): void => {
    for (const queue of waitingForCapacity) {
      if (!hasCapacity(queue)) continue;
      waitingForCapacity.delete(queue);
      startAttempts(queue);
    }
  };

  const waitForSlot = (queue: Queue, delayMs: number): void => {
    queue.timer ??= setTimeout(() => {
      queue.timer = undefined;
      startAttempts(queue);
    }, delayMs);
  };

  /** Releases the deliveries of a queue that have not begun. They are claimed again from the store. */
  const releaseQueue = (queue: Queue): void => {
    const items = queue.items.splice(0);
    if (items.length === 0) return;
    capacity.release(queue.usage, 'queued', items.length);
    releases.add(items);
  };

  // ---- Subscriptions that change

  const refresh = (queue: Queue): void => {
    if (queue.refreshing) return;
    queue.refreshing = true;
    queue.stale = false;
    const { subscriptionId } = queue.target;
    void readTargets(db, context, [subscriptionId])
      .then(([target]) => (target?.active ? retarget(queue, target) : cancel(queue)))
      .catch((error: unknown) => log.error({ err: error, subscriptionId }, 'subscription not read'))
      .finally(() => {
        queue.refreshing = false;
        queue.readAt = clock.now();
        if (queue.stale) refresh(queue);
        else if (queues.has(subscriptionId)) startAttempts(queue);
      });
  };

  const cancel = (queue: Queue): void => {
    queues.delete(queue.target.subscriptionId);
    waitingForCapacity.delete(queue);
    needsMore.delete(queue);
    clearTimeout(queue.timer);
    const items = queue.items.splice(0);
    for (const item of items) held.delete(item);
    capacity.release(queue.usage, 'queued', items.length);
    for (const run of queue.running) run.ended.abort();
  };

  const changed = (subscriptionId: string): void => {
    const queue = queues.get(subscriptionId);
    if (!queue) return;
    queue.stale = true;
    refresh(queue);
  };

  const pruneIdleQueues = (): void => {
    for (const [id, queue] of queues) {
      if (isIdle(queue, clock.now()) && clock.now() - queue.readAt > MINUTE) queues.delete(id);
    }
    capacity.prune(new Set([...queues.values()].map((queue) => queue.target.owner)));
  };

  const deliverer: Deliverer = {
    wake() {
      if (handoffs.size === 0 || handoffRefused) scanWanted = true;
      handoffs.look();
      scheduleClaim();
    },
    committed(tx) {
      handoffs.committed(tx);
      if (handoffRefused) scanWanted = true;
      scheduleClaim();
    },
    changed,
    handoff(tx, target) {
      if (state !== 'running' || !target.active) return undefined;
      const queue = queues.get(target.subscriptionId);
      const now = clock.now();
      const open = queue ? takesHandoffs(queue, target, now) : takesHandoffs(UNKNOWN_QUEUE, target, now);
      const usage = queue?.usage ?? capacity.usageOf(target.owner);
      return {
        take(item) {
          const free = spaceIn(queue ?? UNKNOWN_QUEUE) - handoffs.waitingFor(target.subscriptionId);
          const fits = capacity.has(usage, 'queued') && capacity.has(usage, 'chars', item.body.length);
          if (!open || free <= 0 || !fits) {
            if (!queue?.degraded) handoffRefused = true;
            return undefined;
          }
          const until = clock.now() + leaseMs;
          handoffs.add(tx, target, { ...item, token, until, notBefore: 0, place: -1, usage });
          return { token, until };
        },
      };
    },
    start() {
      if (state !== 'idle') return;
      state = 'running';
      const poll = setInterval(() => {
        scanWanted = true;
        pruneIdleQueues();
        startAllAttempts();
        handoffs.look();
        scheduleClaim();
      }, POLL_MS);
      timers = [poll, startSweeps(context, sweeps)];
      scanWanted = true;
      scheduleClaim();
    },
    async close() {
      if (state !== 'running') return;
      state = 'closing';
      for (const timer of timers) clearInterval(timer);
      clearTimeout(scanTimer);
      await Promise.all([claiming, handoffs.idle()]);
      for (const queue of queues.values()) {
        clearTimeout(queue.timer);
        releaseQueue(queue);
      }
      const until = performance.now() + DRAIN_MS;
      while (capacity.used('fast') + capacity.used('slow') > 0 && performance.now() < until) await sleep(10);
      for (const queue of queues.values()) for (const run of queue.running) run.ended.abort();
      await outcomes.close();
      state = 'closed';
      releases.add([...held].filter(({ deliveryId }) => !outcomes.unwritten.has(deliveryId)));
      // Releases handoffs of transactions that were open. A later commit reports itself through committed().
      handoffs.look();
      await handoffs.idle();
      // The caller closes the store next. Deliveries that are not released by then wait until their leases expire.
      await releases.idle();
    },
  };
  const outcomes = createOutcomes({ ...context, deliverer });
  return deliverer;
}
