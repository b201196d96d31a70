import { DAY, parseHttpDate, SECOND } from '../lib/clock.ts';
import { jitter } from '../runtime/backoff.ts';

/** Jitter of a delay, as a fraction to either side. It spreads the retries of deliveries that failed together. */
const JITTER = 0.2;
const LONGEST_WAIT_MS = DAY;

/**
 * Returns the delay after the `step`-th failed attempt of a schedule, in milliseconds; undefined after the last one. A
 * receiver's Retry-After counts up to a day.
 */
export function retryDelay(
  scheduleMs: readonly number[],
  step: number,
  retryAfterMs: number | undefined,
): number | undefined {
  const delay = scheduleMs[step - 1];
  if (delay === undefined) return undefined;
  return Math.max(jitter(delay, JITTER), Math.min(retryAfterMs ?? 0, LONGEST_WAIT_MS));
}

/**
 * Returns a Retry-After header in milliseconds. The header holds seconds or a date (RFC 9110 section 10.2.3). Returns
 * undefined for anything else.
 */
export function retryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\s*(\d+)\s*$/.exec(text)?.[1];
  const waitMs = seconds === undefined ? parseHttpDate(text) - now : Number(seconds) * SECOND;
  return waitMs > 0 ? Math.min(waitMs, LONGEST_WAIT_MS) : undefined;
}
