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
  /** The largest page of the app. */
  maxLimit: z.int().min(1).max(1000).default(50),
  /** Page size where the app has no size parameter, else the size of a list when the caller names none. */
  defaultLimit: z.int().min(1).max(1000).optional(),
  /** Place of the number of all records. In a header such as `Content-Range: items 0-24/319` it follows the slash. */
  total: answerPlace.optional(),
  /** A truthy value at this place means that more records exist. */
  hasMore: answerPlace.optional(),
};
export const paging = z.discriminatedUnion('style', [
  /** A number of records to skip. */
  z.strictObject({
    style: z.literal('offset'),
    ...pagingCommon,
    /** The parameter for that number. */
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
  /** Numbered pages. */
  z.strictObject({
    style: z.literal('page'),
    ...pagingCommon,
    /** The parameter for the number of the page. */
    pageParam: z.string().min(1),
    /** The number of the first page. */
    firstPage: z.int().min(0).max(1).default(1),
    /** Place of the number of all pages. */
    totalPages: answerPlace.optional(),
  }),
  /** `next` is an opaque cursor in the answer; absent, null or empty at the end. */
  z.strictObject({
    style: z.literal('cursor'),
    ...pagingCommon,
    /** The parameter for the cursor. */
    cursorParam: z.string().min(1),
    /** Place of the cursor of the next page. */
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
    /** The parameter for the value of the field. */
    cursorParam: z.string().min(1),
    /** Path of the field in a record, such as `id`. */
    field: z.string().min(1),
  }),
  /** `next` is a whole address: a Link header with rel=next, or a URL in the body. It must keep the origin. */
  z.strictObject({
    style: z.literal('link'),
    ...pagingCommon,
    /** Place of the address. */
    next: answerPlace.default('header:Link'),
  }),
  /** The app returns everything at once; the page is cut here. */
  z.strictObject({
    style: z.literal('none'),
    /** The largest page for callers. */
    maxLimit: z.int().min(1).max(1000).default(50),
  }),
]);
export type Paging = z.infer<typeof paging>;
