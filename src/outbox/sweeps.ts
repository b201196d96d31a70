import type { Context } from '../context.ts';
import { MINUTE } from '../lib/clock.ts';
import { cancelLeftovers } from './cancel.ts';
import { deleteOldEvents } from './retention.ts';

const SWEEP_MS = 10 * MINUTE;

/** Removes what is over; called again and again. */
export type Sweep = (context: Pick<Context, 'db' | 'clock' | 'store'>) => Promise<void>;

/** Begins to remove old events and leftovers of ended subscriptions, and what `more` removes. @returns the timer. */
export function startSweeps(
  context: Pick<Context, 'db' | 'clock' | 'store' | 'log'>,
  more: readonly Sweep[],
): NodeJS.Timeout {
  return setInterval(() => {
    for (const sweep of [deleteOldEvents, cancelLeftovers, ...more])
      sweep(context).catch((error: unknown) => context.log.error({ err: error }, 'a sweep failed'));
  }, SWEEP_MS);
}
