import { z } from 'zod';
import { bodyPath } from './format-parts.ts';

/* The meanings of an app's failures: the member `errors` of a connector file. */

/** `permission`: the credential is valid and lacks a right. `transient`: the same call may work in a moment. */
const meaning = z.enum([
  'credential_invalid',
  'upstream_rate_limited',
  'upstream_rejected',
  'upstream_failed',
  'permission',
  'transient',
]);
export type ErrorMeaning = z.infer<typeof meaning>;

const status = z.int().min(100).max(599);
const scalar = z.union([z.string(), z.number(), z.boolean()]);
/** A value, or any of several. */
const oneOf = <T extends z.ZodType>(value: T) =>
  z.union([value, z.array(value).min(1, 'must be a value, or a list of at least one value')]);

/** All conditions of a rule must hold. The first rule that holds decides. */
const rule = z
  .strictObject({
    means: meaning,
    /** HTTP statuses. */
    status: oneOf(status).optional(),
    /** A header of the answer. Without `equals`: it is present and not empty. */
    header: z
      .strictObject({
        /** Name of the header. */
        name: z.string().min(1),
        /** Its value, or one of several. */
        equals: oneOf(z.string()).optional(),
      })
      .optional(),
    /**
     * A place in the body; `*` in its path stands for every entry of a list: `errors.*.type`. Without `equals`: the
     * place holds a truthy value.
     */
    body: z
      .strictObject({
        path: bodyPath,
        /** The value there, or one of several. */
        equals: oneOf(scalar).optional(),
      })
      .optional(),
    /**
     * Words of the app's message, in any letter case. One of them is enough. The message is the value at the paths of
     * `message`, or the whole body where there is none.
     */
    says: z.array(z.string().min(3)).min(1).optional(),
  })
  .refine((one) => Object.keys(one).length > 1, {
    message: 'needs a condition: status, header, body or says',
  });
export type ErrorRule = z.infer<typeof rule>;

export const errors = z.strictObject({
  /**
   * Paths of the app's sentence, tried in order. A list of sentences there becomes one line. GraphQL actions also try
   * `errors.0.message`.
   */
  message: z
    .array(
      bodyPath.refine((path) => !path.includes('*'), 'takes no *: name the list, whose texts are joined'),
    )
    .default([]),
  /** Path of the app's own error code. GraphQL actions also try `errors.0.extensions.code` and `errors.0.type`. */
  code: bodyPath.optional(),
  /** Where a refusal for a missing right names the right: `body:needed`, `header:X-Accepted-GitHub-Permissions`. */
  needed: z.array(z.string().regex(/^(body|header):.+$/, 'must be body:<path> or header:<name>')).default([]),
  /**
   * Errors inside a success status: any of these conditions. Without `equals`: the path holds a truthy value. The
   * `errors` of a GraphQL answer are failures without being listed here; see `response.partial`.
   */
  when: z
    .array(
      z.strictObject({
        path: bodyPath,
        /** The value there. */
        equals: scalar.optional(),
      }),
    )
    .default([]),
  /**
   * The meaning of a failure by its status, headers, body and words. Rules are read before `codes` and `statuses`.
   * They apply only to answers that are failures by their status, by `when` or as GraphQL.
   */
  rules: z.array(rule).default([]),
  /** The app's code → its meaning. Statuses decide where no code is listed. */
  codes: z.record(z.string(), meaning).default({}),
  /** An HTTP status → its meaning, where that differs from the usual: `{403: upstream_rate_limited}`. */
  statuses: z.record(z.string().regex(/^[1-5]\d\d$/), meaning).default({}),
});
