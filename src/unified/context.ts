import type { Context as Actions } from '../actions/context.ts';
import type { BoundedExpressions } from '../upstream/expression-limits.ts';

/** The parts that unified models use. */
export interface Context extends Actions {
  /** Evaluates expressions of users, within limits. */
  readonly expressions: BoundedExpressions;
}
