import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Base } from '../base.ts';
import { MINUTE } from '../lib/clock.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Tx } from '../store/schema.ts';
import { ClaimLoop } from './claim-loop.ts';
import { TIMING, type Timing } from './delivery-timing.ts';
import { createHandoffs, type Handoffs } from './handoffs.ts';
import { createOutcomes, type Outcomes } from './outcome-commits.ts';
import { spaceIn, takesHandoffs, UNKNOWN_QUEUE } from './queue.ts';
import { Queues } from './process-queues.ts';
import { Sender } from './sender.ts';
import type { DeliveryTarget } from './delivery-target.ts';
import type { Deliveries, Handoff } from './context.ts';
import { cancelLeftovers } from './cancel-deliveries.ts';
import { deleteOldEvents } from './event-retention.ts';
import { DRAIN_MS } from '../lib/http/drain.ts';

type DispatcherContext = Pick<Base, 'db' | 'store' | 'clock' | 'keys' | 'log' | 'telemetry' | 'intervals'>;

interface DispatcherOptions {
  outbound: Outbound;
  scheduleMs: readonly number[];
  timing?: Timing;
  /** Further sweeps, which run with those of old events. */
  sweeps?: readonly Sweep[];
}

/**
 * Sends the deliveries of the outbox between start() and close(). Outside that time they wait in the store. Handoffs and
 * claims fill the queues, the sender empties them.
 */
export class Dispatcher implements Deliveries {
  readonly #context: DispatcherContext;
  readonly #sweeps: readonly Sweep[];
  readonly #leaseMs: number;
  /** Lease token of this process. */
  readonly #token = randomUUID();
  readonly #queues: Queues;
  readonly #handoffs: Handoffs;
  readonly #outcomes: Outcomes;
  readonly #claims: ClaimLoop;
  readonly #sender: Sender;
  #state: 'idle' | 'running' | 'closing' | 'closed' = 'idle';
  #timers: NodeJS.Timeout[] = [];

  constructor(
    context: DispatcherContext,
    { outbound, scheduleMs, timing = TIMING, sweeps = [] }: DispatcherOptions,
  ) {
    const token = this.#token;
    const isRunning = (): boolean => this.#state === 'running';
    const isHeldBack = (): boolean => outcomes.unwritten.size > 0;
    this.#context = context;
    this.#sweeps = sweeps;
    this.#leaseMs = timing.leaseMs;
    const queues = new Queues(context, token);
    const handoffs = createHandoffs(context, ({ target, items }) => {
      if (isRunning()) this.#sender.start(queues.add(target, items));
      else queues.releases.add(items);
    });
    const outcomes = createOutcomes({ ...context, dispatcher: this }, () => {
      this.#sender.startAll();
      this.#claims.schedule();
    });
    const claims = new ClaimLoop(context, {
      token,
      leaseMs: timing.leaseMs,
      queues,
      isRunning,
      isHeldBack,
      lastHandoffAt: () => handoffs.lastAt,
      start: (queue) => this.#sender.start(queue),
    });
    const mayBegin = (): boolean => isRunning() && !isHeldBack();
    this.#queues = queues;
    this.#handoffs = handoffs;
    this.#outcomes = outcomes;
    this.#claims = claims;
    this.#sender = new Sender(context, { queues, claims, outcomes, outbound, scheduleMs, timing, mayBegin });
  }

  wake(): void {
    const scans = this.#handoffs.size === 0 || this.#claims.handoffRefused;
    this.#handoffs.look();
    if (scans) this.#claims.scan();
    else this.#claims.schedule();
  }

  committed(tx: Tx): void {
    this.#handoffs.committed(tx);
    if (this.#claims.handoffRefused) this.#claims.scan();
    else this.#claims.schedule();
  }

  changed(subscriptionId: string): void {
    this.#sender.changed(subscriptionId);
  }

  handoff(tx: Tx, target: DeliveryTarget): Handoff | undefined {
    if (this.#state !== 'running' || !target.active) return undefined;
    const { clock } = this.#context;
    const { capacity } = this.#queues;
    const known = this.#queues.get(target.subscriptionId);
    const queue = known ?? UNKNOWN_QUEUE;
    const usage = known?.usage ?? capacity.usageOf(target.owner);
    const open = takesHandoffs(queue, target, clock.now());
    return {
      take: (item) => {
        const free = spaceIn(queue) - this.#handoffs.waitingFor(target.subscriptionId);
        const fits = capacity.has(usage, 'queued') && capacity.has(usage, 'chars', item.body.length);
        if (!open || free <= 0 || !fits) {
          if (queue.health !== 'degraded') this.#claims.handoffRefused = true;
          return undefined;
        }
        const lease = { token: this.#token, until: clock.now() + this.#leaseMs };
        this.#handoffs.add(tx, target, { ...item, ...lease, notBefore: 0, usage });
        return lease;
      },
    };
  }

  start(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'running';
    const poll = setInterval(() => {
      this.#queues.prune();
      this.#sender.startAll();
      this.#handoffs.look();
      this.#claims.scan();
    }, this.#context.intervals.workMs);
    this.#timers = [poll, startSweeps(this.#context, this.#sweeps)];
    this.#claims.scan();
  }

  /** Stops claiming, waits at most 20 s for running attempts, and releases the other deliveries. */
  async close(): Promise<void> {
    // A later start() does nothing.
    if (this.#state === 'idle') this.#state = 'closed';
    if (this.#state !== 'running') return;
    this.#state = 'closing';
    const { capacity, held, releases } = this.#queues;
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all([this.#claims.close(), this.#handoffs.idle()]);
    for (const queue of this.#queues.all()) {
      clearTimeout(queue.timer);
      this.#queues.release(queue);
    }
    const until = performance.now() + DRAIN_MS;
    while (capacity.used('fast') + capacity.used('slow') > 0 && performance.now() < until) await sleep(10);
    for (const queue of this.#queues.all()) for (const run of queue.running) run.ended.abort();
    await this.#outcomes.close();
    this.#state = 'closed';
    releases.add([...held].filter(({ deliveryId }) => !this.#outcomes.unwritten.has(deliveryId)));
    // Releases handoffs of transactions that were open. A later commit reports itself through committed().
    this.#handoffs.look();
    await this.#handoffs.idle();
    // The caller closes the store next. Deliveries that are not released by then wait until their leases expire.
    await releases.idle();
  }
}

const SWEEP_MS = 10 * MINUTE;

/** Removes expired rows. Runs at an interval. */
type Sweep = (context: Pick<Base, 'db' | 'clock' | 'store'>) => Promise<void>;

/**
 * Starts the interval that deletes old events, cancels leftover deliveries of disabled subscriptions, and runs `more`.
 * @returns the timer.
 */
function startSweeps(
  context: Pick<Base, 'db' | 'clock' | 'store' | 'log'>,
  more: readonly Sweep[],
): NodeJS.Timeout {
  return setInterval(() => {
    for (const sweep of [deleteOldEvents, cancelLeftovers, ...more])
      sweep(context).catch((error: unknown) => context.log.error({ err: error }, 'sweep failed'));
  }, SWEEP_MS);
}
