import { z } from 'zod';
import { ERROR_CODES } from '../../lib/errors.ts';
import { hasControls } from '../../lib/hidden.ts';
import type { PageEnd } from '../../store/list-pages.ts';

/** A whole number in a query string. */
const whole = (name: string, least: number, most: number, fallback: number) =>
  z
    .string()
    .regex(/^-?\d{1,12}$/, `must be a whole number from ${least} to ${most}`)
    .transform(Number)
    .refine((n) => n >= least && n <= most, `must be a whole number from ${least} to ${most}`)
    .default(fallback)
    .meta({ description: name, type: 'integer' });

/** `limit` and `offset` of our own lists. */
export const pageQuery = {
  limit: whole('Records of one page.', 1, 50, 50),
  offset: whole('Records to skip.', 0, 1_000_000_000, 0),
};

/** The same with the way on of lists that have cursors. */
export const cursorQuery = {
  ...pageQuery,
  cursor: z.string().max(200).optional().meta({ description: '`nextCursor` of the page before.' }),
};

/** A name of one line, without blanks around it. */
export const label = (most: number) =>
  z
    .string()
    .trim()
    .min(1, `must be 1 to ${most} characters`)
    .max(most, `must be 1 to ${most} characters`)
    .refine((text) => !hasControls(text), 'must not hold control characters');

export const time = z.iso.datetime().meta({ description: 'ISO 8601, UTC' });

/** Where a page stands in its list. Lists with cursors give both ways on, until offsets end. */
export const pagination = z
  .object({
    hasMore: z.boolean(),
    nextOffset: z.int().optional(),
    nextCursor: z.string().optional(),
  })
  .meta({ id: 'Pagination', description: 'Where a page stands in its list.' });

/** Returns the schema of a page of a list: `{data, pagination}`. */
export const pageOf = <T extends z.ZodType>(record: T) => z.object({ data: z.array(record), pagination });

/** A page of records as it is answered. */
export function toPage<T>(data: T[], hasMore: boolean, offset: number) {
  return { data, pagination: hasMore ? { hasMore, nextOffset: offset + data.length } : { hasMore } };
}

/** The same for a list with cursors. */
export function toCursorPage<T>(data: T[], { hasMore, nextOffset, nextCursor }: PageEnd) {
  const byOffset = nextOffset === undefined ? {} : { nextOffset };
  return { data, pagination: hasMore ? { hasMore, ...byOffset, nextCursor } : { hasMore } };
}

/** The body of every error answer. */
export const errorBody = z
  .object({
    error: z.string().meta({ description: 'A sentence a reader can act on.' }),
    code: z.enum(Object.keys(ERROR_CODES)),
    requestId: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'Error', description: 'The body of every refusal.' });
