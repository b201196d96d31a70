import { z } from 'zod';
import { answerPlace } from './format-parts.ts';

/* How an app pages its lists: the member `paging` of a connector file. */

const pagingCommon = {
  /**
   * Where paging parameters are sent. `body`: members of the JSON body or GraphQL variables. `compose`: only where the
   * clauses of `compose` name them. `header`: headers of these names.
   */
  in: z.enum(['query', 'body', 'compose', 'header']).default('query'),
  /** Parameter for the page size; absent for apps with a fixed size. */
  limitParam: z.string().min(1).optional(),
  maxLimit: z.int().min(1).max(1000).default(50),
  /** Page size where the app has no size parameter, else the size of a list when the caller names none. */
  defaultLimit: z.int().min(1).max(1000).optional(),
  /** Place of the number of all records. In a header such as `Content-Range: items 0-24/319` it follows the slash. */
  total: answerPlace.optional(),
  /** A truthy value at this place means that more records exist. */
  hasMore: answerPlace.optional(),
};
export const paging = z.discriminatedUnion('style', [
  z.strictObject({
    style: z.literal('offset'),
    ...pagingCommon,
    offsetParam: z.string().min(1),
    /** The offset of the first record. */
    firstOffset: z.int().min(0).max(1).default(0),
    /**
     * The whole text of the parameter, for apps that take ranges: `items={from}-{to}`. `{from}` is the offset, `{to}`
     * that of the last record, and `{size}` the number of records.
     */
    range: z
      .string()
      .regex(/\{from\}/, 'must name {from}')
      .max(100)
      .optional(),
  }),
  z.strictObject({
    style: z.literal('page'),
    ...pagingCommon,
    pageParam: z.string().min(1),
    firstPage: z.int().min(0).max(1).default(1),
    totalPages: answerPlace.optional(),
  }),
  /** `next` is an opaque cursor in the answer; absent, null or empty at the end. */
  z.strictObject({
    style: z.literal('cursor'),
    ...pagingCommon,
    cursorParam: z.string().min(1),
    next: answerPlace,
    /** Path of later pages, which get only the cursor: `/files/list_folder/continue`. */
    nextPath: z
      .string()
      .regex(/^\/[\w./-]+$/, 'must be a path below the base URL')
      .optional(),
  }),
  /** The next page begins after a field of the last record. */
  z.strictObject({
    style: z.literal('keyset'),
    ...pagingCommon,
    cursorParam: z.string().min(1),
    field: z.string().min(1),
  }),
  /** `next` is a whole address: a Link header with rel=next, or a URL in the body. It must keep the origin. */
  z.strictObject({ style: z.literal('link'), ...pagingCommon, next: answerPlace.default('header:Link') }),
  /** The app returns everything at once; the page is cut here. */
  z.strictObject({ style: z.literal('none'), maxLimit: z.int().min(1).max(1000).default(50) }),
]);
export type Paging = z.infer<typeof paging>;
