import type { Context, Sources } from './context.ts';
import { planJob } from '../runtime/jobs.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import type { Intake } from './context.ts';
import type { Round } from './rounds.ts';

const LOOK_EVERY_MS = SECOND;
/** Concurrent polls of one process. A poll or a job mostly waits for an app. */
const MAX_POLLS = 128;
const MAX_SHORT_JOBS = 8;
/**
 * Backfills and inventories have slots of their own. Otherwise listings of slow apps would delay everybody's
 * registrations.
 */
const MAX_READINGS = 8;
/**
 * Sources whose webhooks are processed at the same time. Some webhooks require reading a record at the app.
 */
const MAX_INBOXES = 64;

/**
 * Creates the loops. It loads the rounds at the first turn, because a process that serves stdio runs none.
 */
export function createSources(): Sources {
  const stop = new AbortController();
  const loops = [
    createLoop(stop.signal, async () => (await import('./rounds.ts')).inboxRound, MAX_INBOXES),
    createLoop(stop.signal, async () => (await import('./rounds.ts')).pollRound, MAX_POLLS),
    createLoop(stop.signal, async () => (await import('./rounds.ts')).shortJobRound, MAX_SHORT_JOBS),
    createLoop(stop.signal, async () => (await import('./rounds.ts')).readingRound, MAX_READINGS),
  ];
  let timer: NodeJS.Timeout | undefined;
  let begun: Promise<void> | undefined;
  const serving = Promise.withResolvers<Context>();
  let intake: Promise<Intake> | undefined;
  const openIntake = async (): Promise<Intake> => {
    const { createIntake } = await import('./webhooks/intake.ts');
    return createIntake(await serving.promise);
  };
  const wake = (): void => {
    for (const loop of loops) loop.wake();
  };
  return {
    start(context) {
      for (const loop of loops) loop.serve(context);
      timer ??= setInterval(wake, LOOK_EVERY_MS);
      begun = planJob(context.db, context, {
        kind: 'forget',
        key: 'all',
        payload: {},
        delayMs: MINUTE,
      }).catch((error: unknown) => context.log.error({ err: error }, 'prune job not planned'));
      wake();
      serving.resolve(context);
    },
    wake,
    intake() {
      intake ??= openIntake().catch((error: unknown) => {
        intake = undefined;
        throw error;
      });
      return intake;
    },
    async close() {
      clearInterval(timer);
      stop.abort();
      await begun;
      await Promise.all(loops.map((loop) => loop.ended()));
    },
  };
}

interface Loop {
  serve(context: Context): void;
  wake(): void;
  ended(): Promise<void>;
}

/**
 * Runs one turn at a time, with at most `most` works in progress. A wake during a turn causes another turn.
 */
function createLoop(signal: AbortSignal, load: () => Promise<Round>, most: number): Loop {
  const running = new Set<Promise<unknown>>();
  let context: Context | undefined;
  let looking: Promise<void> | undefined;
  let again = false;
  /** True when the last turn filled all free slots. */
  let isFull = false;

  async function look(served: Context): Promise<void> {
    const round = await load();
    const freeSlots = most - running.size;
    if (freeSlots === 0) return;
    const begun = await round(served, { signal, freeSlots });
    isFull = begun.length === freeSlots;
    for (const work of begun) {
      const one: Promise<unknown> = work
        .catch((error: unknown) => served.log.error({ err: error }, 'source loop failed'))
        .finally(() => {
          running.delete(one);
          // More work may be due than there were slots. Each claim is a write, so it waits until half are free.
          if (isFull && running.size <= most / 2) wake();
        });
      running.add(one);
    }
  }

  function wake(): void {
    if (signal.aborted || !context) return;
    if (looking) {
      again = true;
      return;
    }
    const served = context;
    looking = look(served)
      .catch((error: unknown) => served.log.error({ err: error }, 'source loop failed'))
      .finally(() => {
        looking = undefined;
        if (!again) return;
        again = false;
        wake();
      });
  }

  return {
    serve(served) {
      context = served;
    },
    wake,
    async ended() {
      await looking;
      await Promise.all(running);
    },
  };
}
