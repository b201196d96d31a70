import type { Context, Runs } from './context.ts';
import { createLoop } from '../runtime/loop.ts';
import type { runsOfEvents } from './occasions.ts';
import type { StartRuns } from './turn.ts';
import { DRAIN_MS } from '../lib/http/drain.ts';

const SOON_MS = 50;

/** Creates the runner. Its code is loaded at first use, because listing tools does not need it. */
export function createRuns(): Runs {
  /** Running work, with the user of each run. */
  const running = new Map<Promise<unknown>, string>();
  let served: Context | undefined;
  let turn: Promise<StartRuns> | undefined;
  let occasions: Promise<{ runsOfEvents: typeof runsOfEvents }> | undefined;
  const loop = createLoop({
    drainMs: DRAIN_MS,
    async turn({ signal }) {
      if (!served) return [];
      const runTurn = await (turn ??= loadTurn());
      const begun = await runTurn(served, { signal, users: [...running.values()] });
      return begun.map(({ userId, work }) => {
        const one = work.finally(() => {
          running.delete(one);
          loop.wake();
        });
        running.set(one, userId);
        return one;
      });
    },
    onError: (error) => served?.log.error({ err: error }, 'workflow runner failed'),
  });

  /** Starts the timer. The first look happens at the first tick, so that a start does not wait for it. */
  function start(context: Context): void {
    served = context;
    loop.every(context.intervals.workMs);
  }

  return {
    start,
    wake(context) {
      if (context) start(context);
      loop.wake();
    },
    async onEvents(tx, context, published) {
      const found = await (occasions ??= import('./occasions.ts'));
      const made = await found.runsOfEvents(tx, context, published);
      // The caller's transaction commits within this time; if it takes longer, the next tick finds the runs.
      if (made > 0) setTimeout(loop.wake, SOON_MS).unref();
      return made;
    },
    close: loop.close,
  };
}

async function loadTurn(): Promise<StartRuns> {
  const { createTurn } = await import('./turn.ts');
  return createTurn();
}
