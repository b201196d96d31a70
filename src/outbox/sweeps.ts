import type { Base } from '../base.ts';
import { MINUTE } from '../lib/clock.ts';
import { cancelLeftovers } from './cancel-deliveries.ts';
import { deleteOldEvents } from './retention.ts';

const SWEEP_MS = 10 * MINUTE;

/** Removes expired rows. Runs at an interval. */
export type Sweep = (context: Pick<Base, 'db' | 'clock' | 'store'>) => Promise<void>;

/**
 * Starts the interval that deletes old events, cancels leftover deliveries of disabled subscriptions, and runs `more`.
 * @returns the timer.
 */
export function startSweeps(
  context: Pick<Base, 'db' | 'clock' | 'store' | 'log'>,
  more: readonly Sweep[],
): NodeJS.Timeout {
  return setInterval(() => {
    for (const sweep of [deleteOldEvents, cancelLeftovers, ...more])
      sweep(context).catch((error: unknown) => context.log.error({ err: error }, 'sweep failed'));
  }, SWEEP_MS);
}
