import { setTimeout as sleep } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import type { Context } from '../context.ts';
import type { EventSource, NewEvent } from '../outbox/publish.ts';
import { SECOND } from '../lib/clock.ts';
import type { Tables } from '../store/schema.ts';
import type { runsOfEvents } from './occasions.ts';

const LOOK_EVERY_MS = SECOND;
const SOON_MS = 50;
/** How long a stop waits for steps that are under way; their runs are taken up by others after that. */
const DRAIN_MS = 20 * SECOND;

/** What lets workflows run: begun by events and schedules, carried on until they end. */
export interface Runs {
  /** Serves schedules and runs from now on. */
  start(context: Context): void;
  /** A run is due now. A process that does not serve begins to carry runs here. */
  wake(context?: Context): void;
  /** Runs of the installations that listen to a source, in the transaction that publishes. @returns how many. */
  onEvents(
    tx: Transaction<Tables>,
    context: Pick<Context, 'clock' | 'keys' | 'db'>,
    source: EventSource,
    events: readonly NewEvent[],
  ): Promise<number>;
  close(): Promise<void>;
}

/** What it does stands in files that are loaded when first needed: listing tools needs none of it. */
export function createRuns(): Runs {
  const stop = new AbortController();
  /** Runs under way, and whose they are. */
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
      .catch((error: unknown) => context.log.error({ err: error }, 'the runner of workflows failed'))
      .finally(() => {
        looking = undefined;
        if (!again) return;
        again = false;
        wake();
      });
  }

  /** The first look comes with the first tick: a start is not kept waiting for it. */
  function start(context: Context): void {
    served = context;
    timer ??= setInterval(() => wake(), LOOK_EVERY_MS);
  }

  return {
    start,
    wake,
    async onEvents(tx, context, source, events) {
      const found = await (occasions ??= import('./occasions.ts'));
      const made = await found.runsOfEvents(tx, context, source, events);
      // The caller's transaction commits meanwhile; where it takes longer, the next tick finds them.
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
