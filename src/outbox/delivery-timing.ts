import { SECOND } from '../lib/clock.ts';

/** Time limits of a delivery, in milliseconds. */
export interface Timing {
  /** Limit of one attempt, from the connection to the end of the answer. */
  attemptMs: number;
  /** Time to store the outcome, and tolerance for clocks that differ between processes. */
  marginMs: number;
  /**
   * Duration of a lease. An attempt begins only while attemptMs and marginMs are left of the lease. Otherwise another
   * process could claim a delivery during its attempt.
   */
  leaseMs: number;
  /** An attempt that takes longer marks its queue as degraded and leaves the capacity of healthy queues. */
  slowMs: number;
}

/**
 * An attempt may take 15 s. The lease leaves 8 s for waiting in this process. It ends early enough that another process
 * continues an ordered queue within 30 s after the holder dies.
 */
export const TIMING: Timing = {
  attemptMs: 15 * SECOND,
  marginMs: 5 * SECOND,
  leaseMs: 28 * SECOND,
  slowMs: SECOND,
};
