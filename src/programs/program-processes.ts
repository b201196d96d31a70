import { GatehouseError } from '../lib/errors.ts';
import { createTurns } from '../lib/turns.ts';
import { LIMITS } from './program-limits.ts';
import type { Ended, Waiting } from './program-messages.ts';
import { startWorker, type ProgramRun, type Waiter, type Worker } from './program-worker.ts';

/** Runs programs within limits, each in a process without rights. */
export interface Programs {
  /**
   * Runs a program until it ends or waits for its user.
   * @throws GatehouseError `program_failed` when it exceeds a limit, or its code cannot be read; `unavailable` when too
   * many programs wait, and nothing was run.
   */
  run(program: ProgramRun): Promise<Ended | Waiting>;
  close(): Promise<void>;
}

const MAX_PROCESSES = 4;
/** Processes of one owner. It is fewer than MAX_PROCESSES, so that other owners get some. */
const MAX_OF_OWNER = 2;
const MAX_WAITING = 100;
const MAX_WAITING_OF_OWNER = 20;
const PROGRAM = new URL(
  `./program-process.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`,
  import.meta.url,
);

interface Options {
  program?: URL | undefined;
  cpuSeconds?: number;
}

export function createPrograms(options: Options = {}): Programs {
  const { program = PROGRAM, cpuSeconds = LIMITS.cpuSeconds } = options;
  const workers = new Set<Worker>();
  const queue = createTurns<Waiter>();
  let closed = false;
  let scheduled: NodeJS.Immediate | undefined;

  /** Calls next() in a turn of the event loop of its own, because the start of a process takes most of a turn. */
  const nextSoon = (): void => {
    scheduled ??= setImmediate(() => {
      scheduled = undefined;
      next();
    });
  };

  /**
   * Starts programs of the queue in free processes, and one process at most. A program whose owner runs enough of them
   * stays in the queue.
   */
  const next = (): void => {
    const { size } = workers;
    for (let looks = queue.size; looks > 0; looks -= 1) {
      if (workers.size > size) return nextSoon();
      const waiter = closed ? undefined : queue.take();
      if (!waiter) return;
      if (waiter.signal.aborted) {
        waiter.reject(stopped());
        continue;
      }
      const worker = workerFor(waiter.owner);
      if (worker) worker.run(waiter);
      else queue.add(waiter.owner, waiter);
    }
  };

  const workerFor = (owner: string): Worker | undefined => {
    const own = [...workers].filter((worker) => worker.owner === owner && worker.state !== 'stopping');
    const free = own.find(({ state }) => state === 'free');
    if (free) return free;
    // The next process of an owner waits for the start of the first, which takes most of a processor.
    if (own.length >= MAX_OF_OWNER || own.some(({ state }) => state === 'starting')) return undefined;
    if (workers.size < MAX_PROCESSES) return start(owner);
    // A stopping process calls next() when it has ended, and next() tries again.
    if ([...workers].some(({ state }) => state === 'stopping')) return undefined;
    // Ends a free process of an owner without waiting programs. If each owner has some, a free process is ended only for
    // an owner without a process. Otherwise owners with many programs would keep ending the processes of each other.
    const others = [...workers].filter(({ state }) => state === 'free');
    const other =
      others.find((worker) => queue.sizeOf(worker.owner) === 0) ?? (own.length === 0 ? others[0] : undefined);
    other?.stop('another user needs its place');
    return undefined;
  };

  const start = (owner: string): Worker => {
    const worker = startWorker({
      owner,
      program,
      cpuSeconds,
      onReady: nextSoon,
      onFree: () => next(),
      onEnd() {
        workers.delete(worker);
        next();
      },
    });
    workers.add(worker);
    return worker;
  };

  return {
    async run(waiter) {
      const { owner } = waiter;
      if (closed || queue.size >= MAX_WAITING || queue.sizeOf(owner) >= MAX_WAITING_OF_OWNER)
        throw new GatehouseError(
          'unavailable',
          'Too many programs wait to run. Nothing of this one was run. Try again shortly.',
          { headers: { 'Retry-After': '5' } },
        );
      return new Promise((resolve, reject) => {
        queue.add(owner, { ...waiter, resolve, reject });
        nextSoon();
      });
    },
    async close() {
      closed = true;
      for (let one = queue.take(); one; one = queue.take()) one.reject(stopped());
      for (const worker of workers) worker.stop('this process of Gatehouse stops');
      await Promise.all([...workers].map(({ end }) => end));
    },
  };
}

function stopped(): GatehouseError {
  return new GatehouseError('unavailable', 'The program was stopped before it began.');
}
