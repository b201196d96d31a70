import { z } from 'zod';
import { EFFECTS } from './restrictions.ts';

/** A limit of calls, and which calls are counted together. */
const budget = z
  .strictObject({
    per: z.enum(['server', 'user', 'connector', 'action']),
    effect: z.enum(EFFECTS).optional(),
    limit: z
      .int('must be a whole number from 1 to 1,000,000')
      .min(1, 'must be a whole number from 1 to 1,000,000')
      .max(1_000_000, 'must be a whole number from 1 to 1,000,000'),
    window: z.enum(['1h', '1d']),
  })
  .meta({ id: 'Budget', description: 'A limit of calls in a window that slides.' });

export type Budget = z.infer<typeof budget>;

/** Budgets of a server. Two that count the same calls in the same window would only hide each other. */
export const budgetsSchema = z.array(budget).superRefine((budgets, issues) => {
  const seen = new Set<string>();
  for (const [index, one] of budgets.entries()) {
    const what = [one.per, one.effect ?? '', one.window].join(' ');
    if (seen.has(what))
      issues.addIssue({
        code: 'custom',
        path: [index],
        message: 'counts the same calls in the same window as one before it',
      });
    seen.add(what);
  }
});

/** When calls to an action of an account stop, because they fail in a row. */
export const circuitSchema = z
  .strictObject({
    failures: z
      .int('must be a whole number from 1 to 1,000')
      .min(1, 'must be a whole number from 1 to 1,000')
      .max(1000, 'must be a whole number from 1 to 1,000'),
    openSeconds: z
      .int('must be a whole number from 1 to 3,600')
      .min(1, 'must be a whole number from 1 to 3,600')
      .max(3600, 'must be a whole number from 1 to 3,600'),
  })
  .meta({
    id: 'Circuit',
    description: 'Stops calls to an action of an account after failures in a row; null: never.',
  })
  .nullable();

export type Circuit = NonNullable<z.infer<typeof circuitSchema>>;

export const DEFAULT_CIRCUIT: Circuit = { failures: 10, openSeconds: 60 };

/** The limits of the calls of a server. */
export interface CallLimits {
  budgets: readonly Budget[];
  /** Null: calls are sent however often they fail. */
  circuit: Circuit | null;
}
