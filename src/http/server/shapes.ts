import { z } from 'zod';
import { ERROR_CODES } from '../../lib/errors.ts';
import { hasControls } from '../../lib/hidden-characters.ts';
import type { PageEnd } from '../../store/list-pages.ts';

/** Returns the schema of a whole number in a query string. */
const whole = (name: string, { least, most, fallback }: { least: number; most: number; fallback: number }) =>
  z
    .string()
    .regex(/^-?\d{1,12}$/, `must be a whole number from ${least} to ${most}`)
    .transform(Number)
    .refine((n) => n >= least && n <= most, `must be a whole number from ${least} to ${most}`)
    .default(fallback)
    .meta({ description: name, type: 'integer' });

/** The query of Gatehouse's own lists: `limit` and `offset`. */
export const pageQuery = {
  limit: whole('Records in a page.', { least: 1, most: 50, fallback: 50 }),
  offset: whole('Records to skip.', { least: 0, most: 1_000_000_000, fallback: 0 }),
};

/** The query of lists with cursors. */
export const cursorQuery = {
  ...pageQuery,
  cursor: z.string().max(200).optional().meta({ description: '`nextCursor` of the previous page.' }),
};

/** Returns the schema of a name in one line, without blanks around it. */
export const label = (most: number) =>
  z
    .string()
    .trim()
    .min(1, `must be 1 to ${most} characters`)
    .max(most, `must be 1 to ${most} characters`)
    .refine((text) => !hasControls(text), 'must not hold control characters');

export const time = z.iso.datetime().meta({ description: 'ISO 8601, UTC' });

/**
 * The position of a page in its list. Lists with cursors return both `nextOffset` and `nextCursor`, up to the
 * largest offset.
 */
export const pagination = z
  .object({
    hasMore: z.boolean(),
    nextOffset: z.int().optional(),
    nextCursor: z.string().optional(),
  })
  .meta({ id: 'Pagination', description: 'Position of a page in its list.' });

/** Returns the schema of a page of a list: `{data, pagination}`. */
export const pageOf = <T extends z.ZodType>(record: T) => z.object({ data: z.array(record), pagination });

/** Returns a page of records as an answer. */
export function toPage<T>(data: T[], hasMore: boolean, offset: number) {
  return { data, pagination: hasMore ? { hasMore, nextOffset: offset + data.length } : { hasMore } };
}

/** Returns a page of a list with cursors. */
export function toCursorPage<T>(data: T[], { hasMore, nextOffset, nextCursor }: PageEnd) {
  const byOffset = nextOffset === undefined ? {} : { nextOffset };
  return { data, pagination: hasMore ? { hasMore, ...byOffset, nextCursor } : { hasMore } };
}

/** The body of every error answer. */
export const errorBody = z
  .object({
    error: z.string().meta({ description: 'Sentence that names the fault and its fix.' }),
    code: z.enum(Object.keys(ERROR_CODES)),
    requestId: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'Error', description: 'The body of every error answer.' });
