import { z } from 'zod';
import { fieldName } from './format-parts.ts';

/* The inverse of an action: the member `undo`. */

export const undo = z.strictObject({
  /** An action of this file that takes the effect back. It is no list and not internal. */
  action: z.string(),
  /**
   * Its input. `{path}` is a value by its path: `{result.id}` of the result, `{input.channel}` of the input. A call whose
   * values do not fill it cannot be undone.
   */
  input: z.record(fieldName, z.json()).default({}),
});
