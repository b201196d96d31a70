import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { createFairQueue, type FairQueue } from '../lib/fair-queue.ts';
import { LIMITS } from './program-limits.ts';
import type { Ended, Waiting } from './program-messages.ts';
import { startWorker, UNUSED_MS, type ProgramRun, type Waiter, type Worker } from './program-worker.ts';

/** Runs programs within limits, each in a process without rights. */
export interface Programs {
  /**
   * Runs a program until it ends or waits for its user.
   * @throws GatehouseError `program_failed` when it exceeds a limit, or its code cannot be read; `unavailable` when too
   * many programs wait, and nothing was run.
   */
  run(program: ProgramRun): Promise<Ended | Waiting>;
  /**
   * Starts a process for the next user without one, unless this owner has a process. There is one of them at a time, and one in
   * UNUSED_MS when none is used.
   */
  prepare(owner: string): void;
  close(): Promise<void>;
}

const MAX_PROCESSES = 4;
/** Processes of one owner. It is fewer than MAX_PROCESSES, so that other owners get some. */
const MAX_OF_OWNER = 2;
/** A program that waits for this long for the ready process of its owner may start a second one. A start takes less. */
const PATIENCE_MS = SECOND;
const MAX_WAITING = 100;
const MAX_WAITING_OF_OWNER = 20;
const PROGRAM = new URL(
  `./program-process.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`,
  import.meta.url,
);

interface Options {
  program?: URL | undefined;
  cpuSeconds?: number;
  patienceMs?: number;
}

export function createPrograms(options: Options = {}): Programs {
  const { program = PROGRAM, cpuSeconds = LIMITS.cpuSeconds, patienceMs = PATIENCE_MS } = options;
  const workers = new Set<Worker>();
  const queue = createFairQueue<Waiter>();
  let closed = false;
  /** True while a start waits for the end of its turn, because it blocks the event loop. */
  let starting = false;
  /** No process is prepared before this time, ms of performance.now(). */
  let prepareFrom = 0;

  /** Runs programs of the queue. A program whose owner runs enough of them stays in the queue. */
  const next = (): void => {
    for (let waiter = queue.take(makeRoom); waiter; waiter = queue.take(makeRoom))
      (ownOf(waiter.owner).find(isFree) ?? unused())?.run(waiter);
  };

  /** Runs programs now, and again when those that wait now may start a second process. */
  const nextNowAndLater = (): void => {
    next();
    if (queue.size > 0) setTimeout(next, patienceMs).unref();
  };

  const ownOf = (owner: string): Worker[] =>
    [...workers].filter((worker) => worker.owner === owner && worker.state !== 'stopping');

  /** Returns the process that has run no program yet. */
  const unused = (): Worker | undefined =>
    [...workers].find(({ owner, state }) => owner === undefined && state !== 'stopping');

  /** Returns whether a process is free for this program. If not, it may start one, or end that of another owner. */
  const makeRoom = (waiter: Waiter): boolean => {
    const { owner, since } = waiter;
    const own = ownOf(owner);
    if (own.some(isFree)) return true;
    if (own.length >= MAX_OF_OWNER) return false;
    // Short programs wait for the first process of their owner, because the start of a second one takes longer.
    const waitsSince = Math.max(since, ...own.map(({ readyAt }) => readyAt));
    if (own.length > 0 && performance.now() - waitsSince < patienceMs) return false;
    if (unused()) return true;
    if (workers.size < MAX_PROCESSES) {
      void startSoon(waiter);
      return false;
    }
    // A stopping process calls next() when it has ended, and next() tries again.
    if ([...workers].some(({ state }) => state === 'stopping')) return false;
    const free = [...workers].filter(isFree);
    // Owners with many programs would keep ending the processes of each other, so only an owner without a process may end
    // one whose owner has waiting programs.
    const replaced = withoutPrograms(free, queue) ?? (own.length === 0 ? free[0] : undefined);
    replaced?.stop('another user needs its place');
    return false;
  };

  /** Starts a process for the next owner without one. A program that waits for it receives the error. */
  const startSoon = async (waiter?: Waiter): Promise<void> => {
    if (starting) return;
    starting = true;
    await endOfTurn();
    starting = false;
    if (closed) return;
    try {
      const worker = startWorker({
        program,
        cpuSeconds,
        onChange: nextNowAndLater,
        onEnd: () => ended(worker),
      });
      workers.add(worker);
    } catch (error) {
      // The system has no memory for a process, or its code cannot be read.
      if (waiter && queue.remove(waiter.owner, waiter)) waiter.reject(error);
      else prepareFrom = performance.now() + UNUSED_MS;
    }
    nextNowAndLater();
  };

  const ended = (worker: Worker): void => {
    workers.delete(worker);
    if (worker.owner === undefined) prepareFrom = performance.now() + UNUSED_MS;
    next();
  };

  return {
    async run(asked) {
      const { owner, signal } = asked;
      if (signal.aborted) throw stopped();
      if (closed || queue.size >= MAX_WAITING || queue.sizeOf(owner) >= MAX_WAITING_OF_OWNER)
        throw new GatehouseError(
          'unavailable',
          'Too many programs wait to run. Nothing of this one was run. Try again shortly.',
          { retryAfterSeconds: 5 },
        );
      return new Promise((resolve, reject) => {
        // A process serves several callers, whose calls belong to their own traces.
        const answer = AsyncLocalStorage.bind(asked.answer);
        const waiter = { ...asked, answer, since: performance.now(), resolve, reject };
        signal.addEventListener('abort', () => queue.remove(owner, waiter) && reject(stopped()), {
          once: true,
        });
        queue.add(owner, waiter);
        nextNowAndLater();
      });
    },
    prepare(owner) {
      if (closed || workers.size >= MAX_PROCESSES || unused() || ownOf(owner).length > 0) return;
      if (performance.now() >= prepareFrom) void startSoon();
    },
    async close() {
      closed = true;
      for (let one = queue.take(); one; one = queue.take()) one.reject(stopped());
      for (const worker of workers) worker.stop('this process of Gatehouse stops');
      await Promise.all([...workers].map(({ end }) => end));
    },
  };
}

/** Returns a process of an owner without waiting programs. */
function withoutPrograms(free: readonly Worker[], queue: FairQueue<Waiter>): Worker | undefined {
  return free.find(({ owner }) => owner !== undefined && queue.sizeOf(owner) === 0);
}

function isFree({ state }: Worker): boolean {
  return state === 'free';
}

function stopped(): GatehouseError {
  return new GatehouseError('unavailable', 'The program was stopped before it began.');
}
