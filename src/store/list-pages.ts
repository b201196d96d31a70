import { sql, type RawBuilder } from 'kysely';
import { z } from 'zod';
import { invalidRequest } from '../lib/errors.ts';

/** Deeper offsets are slow in every database; a cursor goes as deep as a caller likes. */
export const MAX_OFFSET = 10_000;

/** The page that a caller asks for: from an offset, or after the last record of the page before. */
export interface PageRequest {
  limit: number;
  offset: number;
  /** `nextCursor` of the page before. */
  cursor?: string | undefined;
}

/** Where a page ends. Both are undefined on the last page; the offset also after a cursor, or where offsets end. */
export interface PageEnd {
  hasMore: boolean;
  nextOffset: number | undefined;
  nextCursor: string | undefined;
}

/** The order of a list: a column of times in epoch milliseconds, then the id, both in one direction. */
export interface ListOrder<Row> {
  time: string;
  id: string;
  direction: 'newest' | 'oldest';
  /** The values of a row in these columns. */
  position(row: Row): [number, string];
  /** Where offsets end; absent when they do not. */
  maxOffset?: number;
}

/**
 * Returns the condition for the rows of a page: those after its cursor, or every row where it has none.
 * @throws GatehouseError `invalid_request` for an offset too deep or next to a cursor, and a cursor that no page gave.
 */
export function afterCursor<Row>(
  { time, id, direction, maxOffset = Infinity }: ListOrder<Row>,
  { offset, cursor }: PageRequest,
): RawBuilder<boolean> {
  if (offset > maxOffset) {
    const rule = `must be at most ${maxOffset}; go on with cursor, the pagination.nextCursor of the last page`;
    throw invalidRequest([{ field: 'offset', rule }]);
  }
  if (cursor !== undefined && offset > 0) {
    throw invalidRequest([{ field: 'offset', rule: 'must be left out when cursor is given' }]);
  }
  if (cursor === undefined) return sql<boolean>`1 = 1`;
  const [at, lastId] = readCursor(cursor);
  const beyond = sql.raw(direction === 'newest' ? '<' : '>');
  // The first comparison lets the index begin at the cursor; with the second alone it would begin at the first row.
  return sql<boolean>`${sql.ref(time)} ${beyond}= ${at}
    and (${sql.ref(time)} ${beyond} ${at} or ${sql.ref(id)} ${beyond} ${lastId})`;
}

/** Cuts `limit + 1` rows to a page. */
export function cutPage<Ordered, Row extends Ordered>(
  { position, maxOffset = Infinity }: ListOrder<Ordered>,
  { limit, offset, cursor }: PageRequest,
  rows: readonly Row[],
): PageEnd & { rows: Row[] } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  if (rows.length <= limit || last === undefined)
    return { rows: page, hasMore: false, nextOffset: undefined, nextCursor: undefined };
  const next = offset + page.length;
  return {
    rows: page,
    hasMore: true,
    nextOffset: cursor === undefined && next <= maxOffset ? next : undefined,
    nextCursor: Buffer.from(JSON.stringify(position(last))).toString('base64url'),
  };
}

const cursorParts = z.tuple([z.int(), z.string().regex(/^[\x21-\x7e]{1,64}$/)]);

function readCursor(cursor: string): [number, string] {
  try {
    return cursorParts.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
  } catch {
    throw invalidRequest([{ field: 'cursor', rule: 'must be the pagination.nextCursor of a page before' }]);
  }
}
