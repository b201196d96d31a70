import { z } from 'zod';
import { nextFiring } from './schedule.ts';

const stored = z.object({ cron: z.string(), timeZone: z.string().optional() });

/**
 * Returns the next firing of a stored schedule (JSON) after `after`, epoch ms; null without a schedule or a further
 * firing.
 */
export function firingAfter(schedule: string | null, after: number): number | null {
  return schedule === null ? null : (nextFiring(stored.parse(JSON.parse(schedule)), after) ?? null);
}
