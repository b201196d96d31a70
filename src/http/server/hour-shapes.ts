import { z } from 'zod';
import { time, whole } from './shapes.ts';

/** Returns the query of a count by hour, of at most this many hours. */
export function hoursQuery(max: number) {
  return z.strictObject({
    hours: whole('Hours to count, the current one included.', { min: 1, max, fallback: 24 }),
  });
}

/** Returns the shape of counts in all and by hour. */
export function byHour<T extends z.ZodRawShape>(counts: T) {
  return z.object({
    total: z.object(counts),
    hours: z
      .array(z.object({ at: time.meta({ description: 'Start of the hour, UTC.' }), ...counts }))
      .meta({ description: 'Counts by hour, oldest first.' }),
  });
}
