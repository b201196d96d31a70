import { afterEach, expect, test, vi } from 'vitest';
import { parseTime } from '../../src/unified/map.ts';

afterEach(() => vi.unstubAllEnvs());

test.each([
  '2026-03-01T10:00:00',
  '2026-03-01 10:00:00',
  '2026-03-01 10:00',
  '2026-03-01 10:00:00.000',
  '2026-03-01T10:00:00Z',
  '2026-03-01 10:00:00 UTC',
  '2026-03-01T12:00:00+02:00',
  '2026-03-01 05:00:00 -0500',
  '2026-03-01 12:00:00+02',
  'Sun, 01 Mar 2026 10:00:00 GMT',
])('%s is the same moment wherever this machine is', (text) => {
  for (const zone of ['Europe/Berlin', 'America/New_York', 'UTC']) {
    vi.stubEnv('TZ', zone);
    expect([zone, parseTime(text, 'iso')]).toEqual([zone, Date.parse('2026-03-01T10:00:00Z')]);
  }
});

test('a date alone is its midnight in UTC', () => {
  vi.stubEnv('TZ', 'Europe/Berlin');
  expect(parseTime('2026-03-01', 'iso')).toBe(Date.parse('2026-03-01T00:00:00Z'));
});
