import { z } from 'zod';
import { answerPlace } from './format-parts.ts';

/* The app's limits: the members `rateLimit` and `budget` of a connector file. */

const limit = z
  .strictObject({
    /** Calls per window. */
    requests: z.int().min(1).optional(),
    /** Points per window, by the `cost` of each action. */
    points: z.int().min(1).optional(),
    /** Length of the window in seconds. */
    perSeconds: z.number().positive().max(86_400),
    /** Calls at the same time. */
    concurrency: z.int().min(1).optional(),
    /**
     * The owner of the limit. `credential`: each credential has its own. `app`: all users of one OAuth app of an
     * environment share it; a credential without an OAuth app has its own.
     */
    per: z.enum(['credential', 'app']).default('credential'),
  })
  .refine(({ requests, points }) => (requests === undefined) !== (points === undefined), {
    message: 'needs requests or points, and not both',
  });
export type Limit = z.infer<typeof limit>;

const RATE_LIMITS = 'must be a limit, or a list of 1 to 5 limits';
/** One limit, or several that all hold. */
export const rateLimit = z.union([limit, z.array(limit).min(1, RATE_LIMITS).max(5, RATE_LIMITS)]);

const bodyOrHeader = answerPlace.refine(
  (place) => !place.startsWith('last:'),
  'must be body:<path> or header:<name>',
);

/** The points or calls that are left, as an app's answers report them. A call that would exceed them waits. */
export const budget = z
  .strictObject({
    /** The points or calls that are left. */
    remaining: bodyOrHeader,
    /** The cost of the call in its answer; the next call of the action is expected to cost as much. */
    cost: bodyOrHeader.optional(),
    /** Points that come back each second: a number, or its place. */
    restorePerSecond: z.union([z.number().positive(), bodyOrHeader]).optional(),
    /** When all points come back: seconds from now, an epoch, or ISO 8601. */
    reset: bodyOrHeader.optional(),
  })
  .refine(({ restorePerSecond, reset }) => restorePerSecond !== undefined || reset !== undefined, {
    message: 'needs restorePerSecond or reset',
  });
export type Budget = z.infer<typeof budget>;
