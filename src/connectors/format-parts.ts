import { z } from 'zod';

/* The small shapes that the parts of the connector format share. */

export const template = z.string().min(1).max(2000);
/** A dotted path into a JSON body: `data.items`, `errors.0.message`. The empty string is the body itself; a dot that
 *  belongs to a name has a backslash before it: `@odata\\.nextLink`. */
export const bodyPath = z
  .string()
  .max(200)
  .regex(/^(?!\$)[^[\]]*$/, 'must be a dotted path such as errors.0.message, without brackets');
/** Where in an answer a value is: `body:meta.total`, `header:X-Total-Count`, `last:id` (field of the last record). */
export const answerPlace = z
  .string()
  .regex(/^(body|header|last):.+$/, 'must be body:<path>, header:<name> or last:<path>');
export const fieldName = z
  .string()
  .regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/, 'must be a name such as apiKey or per_page');
/** `{parameter: status, in: [VOIDED, DELETED]}`: calls that give such a value. */
export const condition = z.strictObject({
  /** A parameter, or a dotted path into one: `properties.archived`. Lists are looked through. */
  parameter: z.string().min(1),
  /** Values, compared without regard to letter case. Left out: any value but null, false and an empty one. */
  in: z
    .array(z.union([z.string(), z.number(), z.boolean()]))
    .min(1)
    .optional(),
});
export type Condition = z.infer<typeof condition>;
/** A sentence for people and models. That none of its characters is hidden is checked of the whole file: parse.ts. */
export const text = (most: number) => z.string().trim().min(1).max(most);
