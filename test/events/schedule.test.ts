import { afterEach, expect, test, vi } from 'vitest';
import { retryAfter } from '../../src/events/schedule.ts';
import { DAY } from '../../src/lib/clock.ts';

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
])('a receiver that says Retry-After: %s is waited for %s ms, wherever this machine is', (text, waitMs) => {
  const now = Date.parse('2026-03-01T12:00:00Z');
  for (const zone of ['UTC', 'America/New_York', 'Asia/Tokyo']) {
    vi.stubEnv('TZ', zone);
    expect(retryAfter(text, now)).toBe(waitMs);
  }
});
