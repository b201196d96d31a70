import { z } from 'zod';
import { encode } from './encode-format.ts';
import { mediaType, text } from './format-parts.ts';

/* One parameter of an action: the entries of `path`, `query`, `headers`, `cookies`, `body` and `parts`. */

/**
 * A parameter: a JSON Schema with further keywords. `{type: string, format: binary}` is a file, which callers give as
 * `{fileId}` or `{base64}`.
 */
export const parameter = z
  .looseObject({
    /** True where it must be given. A list names required members of an object. */
    required: z.union([z.boolean(), z.array(z.string())]).optional(),
    /** Its name on the wire. A dotted name nests in a body; in a header that is JSON. */
    as: z.string().min(1).optional(),
    /**
     * An array or object in a query or form: `comma` a,b · `space` a b · `pipe` a|b · `repeat` x=a&x=b ·
     * `brackets` x[]=a, x[k]=v · `indices` x[0]=a · `members` k=v · `json` x={"k":1}. In a path, header or
     * cookie an array is `comma`.
     */
    style: z.enum(['comma', 'space', 'pipe', 'repeat', 'brackets', 'indices', 'members', 'json']).optional(),
    /** The text is put between such quotes and escaped for a query language. */
    quote: z.enum(['single', 'double']).optional(),
    /** The members of this object become members of the body. */
    spread: z.literal(true).optional(),
    /** The value is the whole JSON body, such as a list. */
    whole: z.literal(true).optional(),
    /** The form that the app expects for the value, in the query or the body. */
    encode: encode.optional(),
    /** A text before the value in the body, such as `gid://shopify/Order/`. */
    prefix: z.string().min(1).max(200).optional(),
    /**
     * Slashes in a path parameter separate segments, such as those of a file's name. No segment may be empty
     * or a dot segment.
     */
    slashes: z.literal(true).optional(),
    /** The media type of a part of a multipart body. For a file it replaces the media type of the file. */
    contentType: mediaType.optional(),
    /** The name of a file whose caller gives no name. */
    filename: z.string().min(1).max(200).optional(),
    /** The value is confidential, such as a password: stored inputs of calls have `[redacted]` in its place. */
    sensitive: z.literal(true).optional(),
    /** Description of the value for callers, with unit and format. */
    description: text(1000).optional(),
  })
  .refine(
    (p) => ['type', '$ref', 'enum', 'const', 'anyOf', 'oneOf'].some((keyword) => p[keyword] !== undefined),
    'needs a type, enum, const, anyOf, oneOf or $ref',
  );
export type Parameter = z.infer<typeof parameter>;
