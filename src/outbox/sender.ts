import type { Base } from '../base.ts';
import { SECOND } from '../lib/clock.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { attempt } from './delivery-attempt.ts';
import type { ClaimLoop } from './claim-loop.ts';
import type { Item } from './claim-deliveries.ts';
import type { Timing } from './delivery-timing.ts';
import type { Outcomes } from './outcome-commits.ts';
import type { AttemptOutcome } from './delivery-outcome.ts';
import { concurrencyOf, end, isOnHold, retarget, slotOf, underWay, updateHealth } from './queue.ts';
import type { Queue, Run } from './queue.ts';
import type { Queues } from './process-queues.ts';
import { readTargets } from './delivery-target.ts';

type SenderContext = Pick<Base, 'db' | 'store' | 'clock' | 'keys' | 'log'>;

interface SenderOptions {
  queues: Queues;
  claims: ClaimLoop;
  outcomes: Outcomes;
  outbound: Outbound;
  scheduleMs: readonly number[];
  timing: Timing;
  /** Whether this process sends, and has stored all earlier outcomes. */
  mayBegin: () => boolean;
}

/** How long a queue uses its target before it reads the subscription again. */
const TARGET_TTL_MS = 500;

/** Sends the deliveries in the queues, as far as order, rate limits and capacity allow. */
export class Sender {
  readonly #context: SenderContext;
  readonly #options: SenderOptions;
  readonly #attempts: Parameters<typeof attempt>[0];
  /** Least time left of a lease with which an attempt may begin. */
  readonly #minLeaseMs: number;
  /** Queues that wait for capacity to begin an attempt. */
  readonly #waitingForCapacity = new Set<Queue>();

  constructor(context: SenderContext, options: SenderOptions) {
    const { outbound, scheduleMs, timing } = options;
    this.#context = context;
    this.#options = options;
    this.#attempts = { clock: context.clock, scheduleMs, outbound, attemptMs: timing.attemptMs };
    this.#minLeaseMs = timing.attemptMs + timing.marginMs;
    if (timing.leaseMs <= this.#minLeaseMs)
      throw new Error('The lease must be longer than an attempt and its margin.');
  }

  /** Begins the attempts of a queue that may begin now. The others begin at their slot, or when an attempt ends. */
  start(queue: Queue): void {
    const { queues, claims, mayBegin } = this.#options;
    const now = this.#context.clock.now();
    while (queue.items.length > 0) {
      const [item] = queue.items;
      if (!item || !mayBegin() || underWay(queue) >= concurrencyOf(queue)) return;
      if (isOnHold(queue, now) || item.until - now < this.#minLeaseMs) return queues.release(queue);
      if (now - queue.readAt > TARGET_TTL_MS) return this.#refresh(queue);
      const slot = slotOf(queue, item, now);
      if (slot > now) return this.#waitForSlot(queue, slot - now);
      if (!this.#hasCapacity(queue)) {
        this.#waitingForCapacity.add(queue);
        return;
      }
      queues.shift(queue);
      if (queue.target.ratePerSecond !== null) queue.nextAt = now + SECOND / queue.target.ratePerSecond;
      void this.#begin(queue, item);
    }
    if (queue.more && queues.freeSlots(queue) > 0) {
      queue.more = false;
      claims.more(queue);
    }
  }

  startAll(): void {
    for (const queue of this.#options.queues.all()) if (queue.items.length > 0) this.start(queue);
  }

  /** Reads a changed subscription again. Attempts to a disabled or deleted one are aborted. */
  changed(subscriptionId: string): void {
    const queue = this.#options.queues.get(subscriptionId);
    if (!queue) return;
    queue.stale = true;
    this.#refresh(queue);
  }

  async #begin(queue: Queue, item: Item): Promise<void> {
    const { capacity, held } = this.#options.queues;
    const run = newRun(queue, item);
    run.slow = queue.health === 'degraded';
    capacity.take(queue.usage, run.slow ? 'slow' : 'fast');
    const attempting = attempt(this.#attempts, queue.target, { item, signal: run.ended.signal });
    const slowness = setTimeout(() => this.#markSlow(queue, run), this.#options.timing.slowMs);
    const outcome = await attempting;
    clearTimeout(slowness);
    capacity.release(queue.usage, run.slow ? 'slow' : 'fast');
    end(queue, run);
    if (outcome) this.#finish(queue, outcome);
    else held.delete(item);
    // Queues that wait for capacity start before this one.
    this.#startWaitingQueues();
    this.start(queue);
  }

  #markSlow(queue: Queue, run: Run): void {
    const { queues } = this.#options;
    // If the slow attempts are at capacity, the attempt stays among the fast ones. So hanging attempts are limited.
    run.slow ||= queues.capacity.move(queue.usage, 'fast', 'slow');
    if (run.addressChanges === queue.addressChanges) {
      queue.health = 'degraded';
      queues.release(queue);
    }
    this.#startWaitingQueues();
  }

  #finish(queue: Queue, outcome: AttemptOutcome): void {
    updateHealth(queue, outcome, outcome.durationMs < this.#options.timing.slowMs);
    if (queue.health === 'degraded') this.#options.queues.release(queue);
    const written = this.#write(outcome);
    if (!outcome.target.ordered) return;
    // The next delivery begins after this outcome is stored; otherwise a crash could send this one again after it.
    const writing = newRun(queue, outcome.item);
    void written.finally(() => {
      end(queue, writing);
      queue.more = true;
      this.start(queue);
    });
  }

  async #write(outcome: AttemptOutcome): Promise<void> {
    const { item, target } = outcome;
    const { queues, outcomes } = this.#options;
    const disabled = await outcomes.write(outcome);
    if (!outcomes.unwritten.has(item.deliveryId)) queues.held.delete(item);
    if (disabled) this.changed(target.subscriptionId);
  }

  #hasCapacity(queue: Queue): boolean {
    return this.#options.queues.capacity.has(queue.usage, queue.health === 'degraded' ? 'slow' : 'fast');
  }

  #startWaitingQueues(): void {
    for (const queue of this.#waitingForCapacity) {
      if (!this.#hasCapacity(queue)) continue;
      this.#waitingForCapacity.delete(queue);
      this.start(queue);
    }
  }

  #waitForSlot(queue: Queue, delayMs: number): void {
    queue.timer ??= setTimeout(() => {
      queue.timer = undefined;
      this.start(queue);
    }, delayMs);
  }

  #refresh(queue: Queue): void {
    if (queue.refreshing) return;
    const { db, clock, log } = this.#context;
    queue.refreshing = true;
    queue.stale = false;
    const { subscriptionId } = queue.target;
    void readTargets(db, this.#context, [subscriptionId])
      .then(([target]) => (target?.active ? retarget(queue, target) : this.#cancel(queue)))
      .catch((error: unknown) => log.error({ err: error, subscriptionId }, 'subscription not read'))
      .finally(() => {
        queue.refreshing = false;
        queue.readAt = clock.now();
        if (queue.stale) this.#refresh(queue);
        else if (this.#options.queues.get(subscriptionId)) this.start(queue);
      });
  }

  #cancel(queue: Queue): void {
    this.#waitingForCapacity.delete(queue);
    this.#options.claims.forget(queue);
    this.#options.queues.cancel(queue);
  }
}

/** Adds a run to a queue: an attempt, or the writing of an outcome that the next attempt waits for. */
function newRun(queue: Queue, item: Item): Run {
  const run: Run = {
    item,
    ended: new AbortController(),
    slow: false,
    addressChanges: queue.addressChanges,
  };
  queue.running.add(run);
  return run;
}
