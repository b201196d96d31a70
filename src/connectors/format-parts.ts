import { z } from 'zod';

/* The small shapes that the parts of the connector format share. */

export const template = z.string().min(1).max(2000);
/** A dotted path into a JSON body: `data.items`, `errors.0.message`. The empty string is the body itself; a dot that
 *  belongs to a name has a backslash before it: `@odata\\.nextLink`. */
export const bodyPath = z.string().max(200);
/** Where in an answer a value is: `body:meta.total`, `header:X-Total-Count`, `last:id` (field of the last record). */
export const answerPlace = z
  .string()
  .regex(/^(body|header|last):.+$/, 'must be body:<path>, header:<name> or last:<path>');
export const fieldName = z
  .string()
  .regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/, 'must be a name such as apiKey or per_page');
const HIDDEN =
  // oxlint-disable-next-line no-control-regex -- what it finds is the point
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]|<!--/u;
/** A sentence for people and models: no control, zero-width or bidirectional characters, no comments in it. */
export const text = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .refine((s) => !HIDDEN.test(s), 'must not hold hidden characters or HTML comments');
