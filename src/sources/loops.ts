import type { Context } from '../context.ts';
import { planJob } from '../jobs/jobs.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import type { Intake } from './webhooks/intake.ts';
import type { Round } from './rounds.ts';

const LOOK_EVERY_MS = SECOND;
/** Under way at once in one process: most of a poll or a job is waiting for an app. */
const MAX_POLLS = 128;
const MAX_SHORT_JOBS = 8;
/** Apart from short jobs: readings of slow apps would keep everybody's registrations waiting for as long as they take. */
const MAX_READINGS = 8;
/** Sources whose webhooks are looked at; some say only which record is to be read at the app. */
const MAX_INBOXES = 64;

/** The loops that bring events in: webhooks that arrived, polls, jobs. */
export interface Sources {
  start(context: Context): void;
  /** Something is due now: a webhook arrived, a subscription was made. */
  wake(): void;
  /** What takes the webhooks of apps, in a serving process. */
  intake(): Promise<Intake>;
  close(): Promise<void>;
}

/** Rounds are loaded at the first look: a process that serves stdio makes none. */
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
      }).catch((error: unknown) => context.log.error({ err: error }, 'a job could not be planned'));
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

/** One round at a time, again when it was woken meanwhile, with at most `most` works under way. */
function createLoop(signal: AbortSignal, load: () => Promise<Round>, most: number): Loop {
  const running = new Set<Promise<unknown>>();
  let context: Context | undefined;
  let looking: Promise<void> | undefined;
  let again = false;
  /** Whether the last look found as much as there was room for. */
  let isFull = false;

  async function look(served: Context): Promise<void> {
    const round = await load();
    const room = most - running.size;
    if (room === 0) return;
    const begun = await round(served, { signal, room });
    isFull = begun.length === room;
    for (const work of begun) {
      const one: Promise<unknown> = work
        .catch((error: unknown) => served.log.error({ err: error }, 'an event loop failed'))
        .finally(() => {
          running.delete(one);
          // More may be due than there was room for. Taking is a write of its own, so many are taken at once.
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
      .catch((error: unknown) => served.log.error({ err: error }, 'an event loop failed'))
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
