import { z } from 'zod';
import { fieldName } from './format-parts.ts';

/* The inverse of an action: the member `undo`. */

export const undo = z.strictObject({
  /** An action of this file that reverses the effect. It must not be a list action, and not internal. */
  action: z.string(),
  /**
   * Input of the inverse. `{path}` is a value of the call: `{result.id}` of its result, `{input.channel}` of its input. A
   * call without the values that the inverse requires cannot be undone.
   */
  input: z.record(fieldName, z.json()).default({}),
});
