import { MINUTE, SECOND } from '../lib/clock.ts';

/**
 * Duration of a lease, ms. Processes look for due work each second, so another process takes over within 30 s of a
 * holder's death.
 */
export const LEASE_MS = 24 * SECOND;
/** A holder renews four times in a lease, so that three renewals may fail. */
const RENEW_MS = LEASE_MS / 4;
/** Clocks of two processes may differ by this much. Beyond it, a process takes a lease for the error of a clock. */
const CLOCKS_DIFFER_MS = 10 * MINUTE;

/** Returns the latest end, epoch ms, that a lease can have. A later one was written while a clock was ahead. */
export function latestLeaseEnd(now: number): number {
  return now + CLOCKS_DIFFER_MS;
}

/** Calls `renew` while the lease is held. Returns the function that stops it. A failure goes to `onError`. */
export function keepRenewing(renew: () => Promise<unknown>, onError: (error: unknown) => void): () => void {
  const timer = setInterval(() => void renew().catch(onError), RENEW_MS);
  timer.unref();
  return () => clearInterval(timer);
}
