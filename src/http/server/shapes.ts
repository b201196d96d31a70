import { z } from 'zod';
import { ERROR_CODES } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { PageEnd } from '../../store/list-pages.ts';

/** Returns the schema of a whole number in a query string. */
export const whole = (name: string, { min, max, fallback }: { min: number; max: number; fallback: number }) =>
  z
    .string()
    .regex(/^-?\d{1,12}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((n) => n >= min && n <= max, `must be a whole number from ${min} to ${max}`)
    .default(fallback)
    .meta({ description: name, type: 'integer' });

/** The query of Gatehouse's own lists: `limit` and `offset`. */
export const pageQuery = {
  limit: whole('Records in a page.', { min: 1, max: 50, fallback: 50 }),
  offset: whole('Records to skip.', { min: 0, max: 1_000_000_000, fallback: 0 }),
};

/** The query of lists with cursors. A blank cursor is none. */
export const cursorQuery = {
  ...pageQuery,
  cursor: z
    .string()
    .max(200)
    .transform((text) => (text.trim() === '' ? undefined : text))
    .optional()
    .meta({ description: '`nextCursor` of the previous page.', type: 'string', maxLength: 200 }),
};

/** The schema of an object of any JSON members. */
export const jsonObject = z.custom<JsonObject>(isJsonObject, 'must be an object').meta({ type: 'object' });

/** The query of a request of an app, with any names. */
export const anyQuery = z.record(z.string(), z.union([z.string(), z.array(z.string())]));

/** Returns a query of any names as its sender wrote it, with repeated names. */
export function searchParamsOf(query: z.output<typeof anyQuery>): URLSearchParams {
  return new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    ),
  );
}

export const time = z.iso.datetime().meta({ description: 'ISO 8601, UTC' });

/** A time in a request, as epoch ms. */
export const instant = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 time such as 2026-03-01T12:00:00Z' })
  .transform((text) => Date.parse(text))
  .meta({ type: 'string', format: 'date-time' });

/** Returns the success answer of a deletion: a message, and the id of the deleted record. */
export const deleted = (id: string, description: string) => ({
  status: 200,
  description,
  schema: z.object({ message: z.string(), [id]: z.string() }),
});

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
