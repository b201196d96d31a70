import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Base } from '../base.ts';
import { SECOND } from '../lib/clock.ts';
import { createLoop } from '../runtime/loop.ts';
import { claim, claimRequests, withoutHeld } from './claim-deliveries.ts';
import { dueSubscriptions } from './due.ts';
import type { Queue } from './queue.ts';
import type { Queues } from './process-queues.ts';

type ClaimContext = Pick<Base, 'db' | 'store' | 'clock' | 'keys' | 'log'>;

interface ClaimOptions {
  /** Lease token of this process. */
  token: string;
  leaseMs: number;
  queues: Queues;
  /** Whether this process sends. */
  isRunning: () => boolean;
  /** Whether unstored outcomes forbid new attempts. Their end calls schedule(). */
  isHeldBack: () => boolean;
  /** Time of the last handoff, from performance.now(). */
  lastHandoffAt: () => number;
  /** Begins the attempts of a queue. */
  start: (queue: Queue) => void;
}

const SCAN_GAP_MS = 50;
/** Subscriptions in one claim. SQLite blocks the event loop for 1 ms when each of them begins an attempt. */
const MAX_CLAIMED = 4;
/** Pause after a claim while new events arrive, as a multiple of the claim's duration, so that claims do not delay them. */
const PAUSE_FACTOR = 3;

/** Moves due deliveries from the store into queues. */
export class ClaimLoop {
  /** Whether a handoff was refused since the last scan, so that deliveries may wait in the store. */
  handoffRefused = false;
  readonly #context: ClaimContext;
  readonly #options: ClaimOptions;
  /** Queues that may claim more from the store. */
  readonly #needsMore = new Set<Queue>();
  #scanWanted = false;
  #scannedAt = -Infinity;
  #scanTimer: NodeJS.Timeout | undefined;
  readonly #loop = createLoop({
    turn: () => this.#claimDue(),
    onError: (error) => this.#context.log.error({ err: error }, 'deliveries not claimed'),
  });

  constructor(context: ClaimContext, options: ClaimOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Claims more deliveries of a queue. */
  more(queue: Queue): void {
    this.#needsMore.add(queue);
    this.schedule();
  }

  /** Looks for due deliveries of all subscriptions. */
  scan(): void {
    this.#scanWanted = true;
    this.schedule();
  }

  forget(queue: Queue): void {
    this.#needsMore.delete(queue);
  }

  /** Begins what more() and scan() asked for. Scans are at least SCAN_GAP_MS apart. */
  schedule(): void {
    if (!this.#mayClaim()) return;
    const waitMs = this.#scanWanted ? SCAN_GAP_MS - (performance.now() - this.#scannedAt) : 0;
    if (waitMs > 0)
      this.#scanTimer ??= setTimeout(() => {
        this.#scanTimer = undefined;
        this.schedule();
      }, waitMs);
    if (this.#needsMore.size === 0 && (!this.#scanWanted || waitMs > 0)) return;
    this.#loop.wake();
  }

  /** Resolves when no claim is running. The caller has stopped this process from sending. */
  async close(): Promise<void> {
    clearTimeout(this.#scanTimer);
    await this.#loop.close();
  }

  #mayClaim(): boolean {
    return this.#options.isRunning() && !this.#options.isHeldBack();
  }

  async #claimDue(): Promise<void> {
    const { queues, isRunning, lastHandoffAt } = this.#options;
    if (!this.#mayClaim()) return;
    const wanted = new Set(this.#takeNeedsMore());
    for (const id of await this.#scanned()) wanted.add(id);
    const ids = [...wanted].filter((id) => queues.freeSlotsOf(id) > 0);
    let begunAt = 0;
    for (let at = 0; at < ids.length; at += MAX_CLAIMED) {
      const now = performance.now();
      if (at > 0 && now - lastHandoffAt() < SECOND) await sleep(PAUSE_FACTOR * (now - begunAt));
      if (!isRunning()) return;
      begunAt = performance.now();
      // Queues that drained during the turn are claimed first.
      const drained = this.#takeNeedsMore(MAX_CLAIMED);
      await this.#claimNow(new Set([...drained, ...ids.slice(at, at + MAX_CLAIMED)]));
    }
  }

  /** Returns the subscriptions with due deliveries, when a scan is wanted and allowed. */
  async #scanned(): Promise<string[]> {
    if (!this.#scanWanted || performance.now() - this.#scannedAt < SCAN_GAP_MS) return [];
    this.#scanWanted = false;
    this.handoffRefused = false;
    this.#scannedAt = performance.now();
    const ids = await dueSubscriptions(this.#context);
    if (ids.length > 0) await nextTurn();
    return ids;
  }

  /** Claims deliveries of some subscriptions, and begins their attempts one turn of the event loop after another. */
  async #claimNow(ids: ReadonlySet<string>): Promise<void> {
    const { token, leaseMs, queues, start } = this.#options;
    const { capacity, held } = queues;
    const requests = claimRequests([...ids], (id) => queues.freeSlotsOf(id), capacity.free('queued'));
    const claims = withoutHeld(held, await claim(this.#context, { token, leaseMs, capacity }, requests));
    for (const { target, items, more } of claims) queues.add(target, items).more = more;
    for (const { target } of claims) {
      await nextTurn();
      const queue = queues.get(target.subscriptionId);
      if (queue) start(queue);
    }
  }

  #takeNeedsMore(most = this.#needsMore.size): string[] {
    const taken = [...this.#needsMore].slice(0, most);
    for (const queue of taken) this.#needsMore.delete(queue);
    return taken.map((queue) => queue.target.subscriptionId);
  }
}
