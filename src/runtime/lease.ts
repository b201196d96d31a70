import { sql, type RawBuilder, type SqlBool } from 'kysely';
import { MINUTE, SECOND } from '../lib/clock.ts';

/**
 * Duration of a lease, ms. Processes look for due work each second, so another process takes over within 30 s of a
 * holder's death.
 */
export const LEASE_MS = 24 * SECOND;
/** Largest accepted difference of two processes' clocks. A lease that ends later is treated as a clock error. */
const MAX_CLOCK_DIFFERENCE_MS = 10 * MINUTE;

/** Expiry of a lease that lasts until its holder releases it. */
export const NO_EXPIRY = Number.MAX_SAFE_INTEGER;

/** Returns the condition that a row is not leased. A lease that ends too late was written while a clock was ahead. */
export function isUnleased(table: 'jobs' | 'sources', now: number): RawBuilder<SqlBool> {
  const until = sql.ref(`${table}.lease_until`);
  const isTooLate = sql`${until} > ${now + MAX_CLOCK_DIFFERENCE_MS} and ${until} <> ${NO_EXPIRY}`;
  return sql`(${until} is null or ${until} < ${now} or (${isTooLate}))`;
}

/** Renewal of a lease. */
interface Renewal {
  /** Extends the lease, unless another process has taken it. */
  renew(): Promise<unknown>;
  onError(error: unknown): void;
  /** Duration of the lease; LEASE_MS when absent. */
  leaseMs?: number;
}

/** Runs `work`, and renews its lease until it ends. */
export async function whileRenewing<T>(renewal: Renewal, work: () => Promise<T>): Promise<T> {
  const endRenewal = keepRenewing(renewal);
  try {
    return await work();
  } finally {
    endRenewal();
  }
}

/**
 * Renews a lease until the returned function is called. It renews four times in the duration of the lease, so that
 * three renewals may fail.
 */
export function keepRenewing({ renew, onError, leaseMs = LEASE_MS }: Renewal): () => void {
  const timer = setInterval(() => void renew().catch(onError), leaseMs / 4);
  timer.unref();
  return () => clearInterval(timer);
}
