import type { Intervals } from '../../src/base.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { until } from './until.ts';

/** Polls in the tests. The polls of a released Gatehouse are about five times as far apart. */
export const SHORT_INTERVALS: Intervals = { changesMs: 100, workMs: 200 };

/** A clock that stands still until the test moves it. */
export interface ManualClock extends Clock {
  advance(ms: number): void;
}

export function manualClock(start = Date.parse('2026-03-01T12:00:00Z')): ManualClock {
  let now = start;
  return {
    now: () => now,
    advance(ms) {
      now += ms;
    },
  };
}

/** Waits until a clock shows a later millisecond, and returns it. */
export async function nextMillisecond(clock: Clock): Promise<number> {
  const before = clock.now();
  await until(() => clock.now() > before);
  return clock.now();
}
