import type { Clock } from '../../src/lib/clock.ts';

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
