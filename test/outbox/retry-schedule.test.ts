import { afterEach, expect, test, vi } from 'vitest';
import { retryAfter, retryDelay } from '../../src/outbox/retry-schedule.ts';
import { DAY, HOUR, SECOND } from '../../src/lib/clock.ts';

afterEach(() => vi.unstubAllEnvs());

test.each([
  ['7', 7000],
  [' 7 ', 7000],
  ['0', undefined],
  ['1.5', undefined],
  ['90000', DAY],
  ['9999999999', DAY],
  ['9'.repeat(20), DAY],
  ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
  ['Sunday, 01-Mar-26 12:00:30 GMT', 30_000],
  ['Sun Mar  1 12:00:30 2026', 30_000],
  ['Sun Mar 15 12:00:30 2026', DAY],
  ['Sun Mar  1 11:00:00 2026', undefined],
  ['soon', undefined],
  ['', undefined],
  [undefined, undefined],
])('a Retry-After of %s means a wait of %s ms, wherever this machine is', (text, waitMs) => {
  const now = Date.parse('2026-03-01T12:00:00Z');
  for (const zone of ['UTC', 'America/New_York', 'Asia/Tokyo']) {
    vi.stubEnv('TZ', zone);
    expect(retryAfter(text, now)).toBe(waitMs);
  }
});

/** Returns the delays of many deliveries that failed together. */
const waitsOf = (scheduleMs: number[], retryAfterMs?: number) =>
  Array.from({ length: 1000 }, () => retryDelay(scheduleMs, 1, retryAfterMs) ?? NaN);

test.each([5 * SECOND, HOUR, DAY])(
  'deliveries that failed together retry within a fifth around %s ms',
  (delayMs) => {
    const waits = waitsOf([delayMs]);
    const [soonest, latest] = [Math.min(...waits) / delayMs, Math.max(...waits) / delayMs];
    expect(soonest).toBeGreaterThanOrEqual(0.8);
    expect(soonest).toBeLessThan(0.85);
    expect(latest).toBeGreaterThan(1.15);
    expect(latest).toBeLessThanOrEqual(1.2);
    expect(new Set(waits).size).toBeGreaterThan(500);
  },
);

test('Retry-After lengthens a delay to a day at most and never shortens it', () => {
  expect(new Set(waitsOf([5 * SECOND], 7 * SECOND))).toEqual(new Set([7 * SECOND]));
  expect(new Set(waitsOf([5 * SECOND], 3 * DAY))).toEqual(new Set([DAY]));
  const waits = waitsOf([HOUR], HOUR);
  expect(Math.min(...waits)).toBe(HOUR);
  expect(Math.max(...waits)).toBeGreaterThan(1.15 * HOUR);
});

test('no retry follows the last attempt, whatever Retry-After says', () => {
  const schedule = [5 * SECOND, HOUR];
  expect(retryDelay(schedule, 2, undefined)).toBeGreaterThanOrEqual(0.8 * HOUR);
  expect([retryDelay(schedule, 3, undefined), retryDelay(schedule, 3, HOUR)]).toEqual([undefined, undefined]);
});
