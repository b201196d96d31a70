import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from './context.ts';
import { SECOND } from '../lib/clock.ts';
import type { runsOfEvents } from './occasions.ts';
import type { Runs } from './context.ts';

const LOOK_EVERY_MS = SECOND;
const SOON_MS = 50;
/** How long close() waits for running steps. Other processes then take over their runs. */
const DRAIN_MS = 20 * SECOND;

/** Creates the runner. Its code is loaded at first use, because listing tools does not need it. */
export function createRuns(): Runs {
  const stop = new AbortController();
  /** Running work, with the user of each run. */
  const running = new Map<Promise<unknown>, string>();
  let served: Context | undefined;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let again = false;
  let occasions: Promise<{ runsOfEvents: typeof runsOfEvents }> | undefined;

  async function look(context: Context): Promise<void> {
    const { lookOnce } = await import('./round.ts');
    const begun = await lookOnce(context, { stop: stop.signal, users: [...running.values()] });
    for (const { userId, work } of begun) {
      const one = work.finally(() => {
        running.delete(one);
        wake();
      });
      running.set(one, userId);
    }
  }

  function wake(context = served): void {
    if (stop.signal.aborted || !context) return;
    start(context);
    if (looking) {
      again = true;
      return;
    }
    looking = look(context)
      .catch((error: unknown) => context.log.error({ err: error }, 'workflow runner failed'))
      .finally(() => {
        looking = undefined;
        if (!again) return;
        again = false;
        wake();
      });
  }

  /** Starts the timer. The first look happens at the first tick, so that a start does not wait for it. */
  function start(context: Context): void {
    served = context;
    timer ??= setInterval(() => wake(), LOOK_EVERY_MS);
  }

  return {
    start,
    wake,
    async onEvents(tx, context, published) {
      const found = await (occasions ??= import('./occasions.ts'));
      const made = await found.runsOfEvents(tx, context, published);
      // The caller's transaction commits within this time; if it takes longer, the next tick finds the runs.
      if (made > 0) setTimeout(() => wake(), SOON_MS).unref();
      return made;
    },
    async close() {
      clearInterval(timer);
      stop.abort();
      await looking;
      const patience = new AbortController();
      await Promise.race([
        Promise.all(running.keys()),
        sleep(DRAIN_MS, undefined, { signal: patience.signal }).catch(() => {}),
      ]);
      patience.abort();
    },
  };
}
