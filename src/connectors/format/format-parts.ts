import { z } from 'zod';

/* The small shapes that the parts of the connector format share. */

export const template = z.string().min(1).max(2000);
/**
 * A dotted path into a JSON body: `data.items`, `errors.0.message`. The empty string is the body itself. A dot that
 * belongs to a name has a backslash before it: `@odata\\.nextLink`.
 */
export const bodyPath = z
  .string()
  .max(200)
  .regex(/^(?!\$)[^[\]]*$/, 'must be a dotted path such as errors.0.message, without brackets');
/** Place of a value in an answer: `body:meta.total`, `header:X-Total-Count`, `last:id` (field of the last record). */
export const answerPlace = z
  .string()
  .regex(/^(body|header|last):.+$/, 'must be body:<path>, header:<name> or last:<path>');
export const fieldName = z
  .string()
  .regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/, 'must be a name such as apiKey or per_page');
/** A condition on calls, by the value of a parameter: `{parameter: status, in: [VOIDED, DELETED]}`. */
export const condition = z.strictObject({
  /** A parameter, or a dotted path into one: `properties.archived`. Entries of lists are compared one by one. */
  parameter: z.string().min(1),
  /** Values, compared without regard to letter case. Default: any value except null, false and an empty one. */
  in: z
    .array(z.union([z.string(), z.number(), z.boolean()]))
    .min(1)
    .optional(),
});
export type Condition = z.infer<typeof condition>;
/** A media type, perhaps with parameters: `text/csv; charset=utf-8`. */
export const mediaType = z
  .string()
  .max(200)
  .regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:; ?[\w-]+=[\w.+-]+)*$/, 'must be a media type, such as text/csv');
/** A sentence for people and models. parse.ts checks the whole file for hidden characters. */
export const text = (most: number) => z.string().trim().min(1).max(most);
/** User name and password of HTTP Basic. */
export const basic = z.strictObject({
  /** The user name, as a template. */
  username: template,
  /** The password, as a template; it may be empty. */
  password: z.string().max(2000),
});
