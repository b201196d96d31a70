import { z } from 'zod';
import { bodyPath, fieldName } from './format-parts.ts';

/* Values that are part of an entered field: the member `derived` of a scheme. */

const derivedField = z
  .strictObject({
    /** The field or variable that holds the value. */
    from: fieldName,
    /** The field is JSON, and the value is at this path: `client_email` of a key file. */
    json: bodyPath.optional(),
    /** A regular expression with one group, which is the value: `-(us\\d+)$`. */
    pattern: z.string().min(1).max(1000).optional(),
    /** Characters to replace, one after the other: `{_: '-'}`. */
    replace: z.record(z.string().min(1), z.string()).default({}),
    /** Letter case of the value. */
    case: z.enum(['lower', 'upper']).optional(),
    /** Form of the value; `host`, `subdomain` and `origin` may be part of an address. */
    format: z.enum(['text', 'multiline', 'subdomain', 'host', 'origin']).default('text'),
    /** False for values of an address. */
    secret: z.boolean().default(true),
  })
  .refine(
    ({ json, pattern }) => json === undefined || pattern === undefined,
    'json and pattern exclude each other',
  );
export type DerivedField = z.infer<typeof derivedField>;

/** Values by name. They are stored with the credential, and templates name them like fields. */
export const derived = z.record(fieldName, derivedField).default({});
