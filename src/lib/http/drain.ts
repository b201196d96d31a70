import { SECOND } from '../clock.ts';

/** How long a stop waits for running work: requests, tasks, steps of workflows, deliveries. */
export const DRAIN_MS = 20 * SECOND;
