import { setTimeout as sleep } from 'node:timers/promises';

/** Repeats turns of background work, one turn at a time. */
export interface Loop {
  /** Begins a turn. A wake during a turn causes another turn. */
  wake(): void;
  /** Wakes the loop at an interval, first after `firstMs`, until it closes. Further calls change nothing. */
  every(intervalMs: number, firstMs?: number): void;
  /** Resolves when no turn and no work is in progress. */
  idle(): Promise<void>;
  /** Ends the turns, aborts their signal, and waits for the work in progress, at most `drainMs`. */
  close(): Promise<void>;
}

/** Limits of a turn. */
export interface TurnOptions {
  /** Aborted when the loop closes. */
  signal: AbortSignal;
  /** Number of works that the turn may begin. */
  freeSlots: number;
}

interface LoopOptions {
  /** Begins due work and returns it, or does the work itself and returns nothing. */
  turn(options: TurnOptions): Promise<readonly Promise<unknown>[] | void>;
  /** Receives the error of a turn or of a work. The loop continues. */
  onError(error: unknown): void;
  /** Works in progress; no limit when absent. A turn begins only while a slot is free. */
  most?: number;
  /** Longest wait of close(); no limit when absent. */
  drainMs?: number;
}

export function createLoop({ turn, onError, most = Infinity, drainMs }: LoopOptions): Loop {
  const stop = new AbortController();
  const running = new Set<Promise<unknown>>();
  let turning: Promise<void> | undefined;
  let isWanted = false;
  let timer: NodeJS.Timeout | undefined;
  /** True when the last turn filled all free slots. */
  let isFull = false;

  const runTurn = async (): Promise<void> => {
    const freeSlots = most - running.size;
    if (freeSlots === 0) return;
    const started = (await turn({ signal: stop.signal, freeSlots })) ?? [];
    isFull = started.length === freeSlots;
    for (const work of started) follow(work);
  };

  const follow = (work: Promise<unknown>): void => {
    const one: Promise<unknown> = work.catch(onError).finally(() => {
      running.delete(one);
      // More work may be due than there were slots. Each claim is a write, so it waits until half are free.
      if (isFull && running.size <= most / 2) wake();
    });
    running.add(one);
  };

  const runTurns = async (): Promise<void> => {
    while (isWanted && !stop.signal.aborted) {
      isWanted = false;
      await runTurn().catch(onError);
    }
    turning = undefined;
  };

  const wake = (): void => {
    if (stop.signal.aborted) return;
    isWanted = true;
    turning ??= runTurns();
  };

  const idle = async (): Promise<void> => {
    await turning;
    await Promise.all(running);
    if (turning || running.size > 0) await idle();
  };

  return {
    wake,
    every(intervalMs, firstMs = intervalMs) {
      if (stop.signal.aborted) return;
      timer ??= setTimeout(() => {
        timer = setInterval(wake, intervalMs).unref();
        wake();
      }, firstMs).unref();
    },
    idle,
    async close() {
      clearTimeout(timer);
      stop.abort();
      if (drainMs === undefined) return idle();
      const drained = new AbortController();
      const late = sleep(drainMs, undefined, { signal: drained.signal }).catch(() => {});
      await Promise.race([idle(), late]);
      drained.abort();
    },
  };
}
