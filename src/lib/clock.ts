/** Time as a dependency: epoch milliseconds now. Tests pass a clock that they move by hand. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** The form of C's asctime(), `Sun Nov  6 08:49:37 1994`, which recipients must take (RFC 9110 section 5.6.7). */
const ASCTIME = /^\s*\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\s*$/;

/**
 * Returns an HTTP date in epoch milliseconds, NaN for an invalid one. All forms are in GMT, also asctime, which does
 * not name it.
 */
export function parseHttpDate(text: string): number {
  return Date.parse(ASCTIME.test(text) ? `${text} GMT` : text);
}

/** Returns epoch milliseconds as ISO 8601 in UTC, or null for null. */
export function isoTime(epochMs: number): string;
export function isoTime(epochMs: number | null): string | null;
export function isoTime(epochMs: number | null): string | null {
  return epochMs === null ? null : new Date(epochMs).toISOString();
}
