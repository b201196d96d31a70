import { z } from 'zod';
import { nextFiring } from './schedule.ts';

const stored = z.object({ cron: z.string(), timeZone: z.string().optional() });

/** When a schedule that a row holds (JSON) fires next after `after`; null when there is none, or it never does again. */
export function firingAfter(schedule: string | null, after: number): number | null {
  return schedule === null ? null : (nextFiring(stored.parse(JSON.parse(schedule)), after) ?? null);
}
