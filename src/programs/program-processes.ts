import { AsyncLocalStorage } from 'node:async_hooks';
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
  /** Starts a process for the next user without one, unless there is one already. Its start takes most of a second. */
  prepare(): void;
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

  /** Runs programs of the queue. A program whose owner runs enough of them stays in the queue. */
  const next = (): void => {
    for (let waiter = queue.take(makeRoom); waiter; waiter = queue.take(makeRoom)) {
      const { owner } = waiter;
      try {
        (ownOf(owner).find(isFree) ?? unused() ?? start()).run(waiter);
      } catch (error) {
        // The system has no memory for a process, or its code cannot be read.
        waiter.reject(error);
      }
    }
  };

  const ownOf = (owner: string): Worker[] =>
    [...workers].filter((worker) => worker.owner === owner && worker.state !== 'stopping');

  /** Returns the process that has run no program yet. */
  const unused = (): Worker | undefined =>
    [...workers].find(({ owner, state }) => owner === undefined && state !== 'stopping');

  /** Returns whether a program of this owner can run now. If not, it may end a free process of another owner. */
  const makeRoom = (owner: string): boolean => {
    const own = ownOf(owner);
    if (own.some(isFree)) return true;
    // Short programs wait for the first process of their owner, because the start of a second one takes longer.
    if (own.length >= MAX_OF_OWNER || own.some(({ isLong }) => !isLong)) return false;
    if (unused() || workers.size < MAX_PROCESSES) return true;
    // A stopping process calls next() when it has ended, and next() tries again.
    if ([...workers].some(({ state }) => state === 'stopping')) return false;
    // Ends a free process of an owner without waiting programs. If each owner has some, a free process is ended only for
    // an owner without a process. Otherwise owners with many programs would keep ending the processes of each other.
    const others = [...workers].filter(isFree);
    const other =
      others.find((worker) => queue.sizeOf(worker.owner ?? '') === 0) ??
      (own.length === 0 ? others[0] : undefined);
    other?.stop('another user needs its place');
    return false;
  };

  const start = (): Worker => {
    const worker = startWorker({
      program,
      cpuSeconds,
      onChange: next,
      onEnd() {
        workers.delete(worker);
        next();
      },
    });
    workers.add(worker);
    return worker;
  };

  return {
    async run(asked) {
      const { owner, signal } = asked;
      if (signal.aborted) throw stopped();
      if (closed || queue.size >= MAX_WAITING || queue.sizeOf(owner) >= MAX_WAITING_OF_OWNER)
        throw new GatehouseError(
          'unavailable',
          'Too many programs wait to run. Nothing of this one was run. Try again shortly.',
          { headers: { 'Retry-After': '5' } },
        );
      return new Promise((resolve, reject) => {
        // A process serves several callers, whose calls belong to their own traces.
        const waiter = { ...asked, answer: AsyncLocalStorage.bind(asked.answer), resolve, reject };
        signal.addEventListener('abort', () => queue.remove(owner, waiter) && reject(stopped()), {
          once: true,
        });
        queue.add(owner, waiter);
        next();
      });
    },
    prepare() {
      if (closed || workers.size >= MAX_PROCESSES || unused()) return;
      try {
        start();
      } catch {
        // The first program tries again, and reports the error.
      }
    },
    async close() {
      closed = true;
      for (let one = queue.take(); one; one = queue.take()) one.reject(stopped());
      for (const worker of workers) worker.stop('this process of Gatehouse stops');
      await Promise.all([...workers].map(({ end }) => end));
    },
  };
}

function isFree({ state }: Worker): boolean {
  return state === 'free';
}

function stopped(): GatehouseError {
  return new GatehouseError('unavailable', 'The program was stopped before it began.');
}
