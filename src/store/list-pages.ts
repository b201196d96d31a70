import { sql, type RawBuilder, type SelectQueryBuilder } from 'kysely';
import { z } from 'zod';
import { invalidRequest } from '../lib/errors.ts';

/** The largest offset of a list that grows with use: deep offsets are slow in every database, and cursors are not. */
export const MAX_OFFSET = 10_000;

/** The requested page: from an offset, or after the last record of the page before. */
export interface PageRequest {
  limit: number;
  offset: number;
  /** `nextCursor` of the page before. */
  cursor?: string | undefined;
}

/**
 * The end of a page. Both values are undefined on the last page. The offset is also undefined after a cursor, or
 * beyond the largest offset.
 */
export interface PageEnd {
  hasMore: boolean;
  nextOffset: number | undefined;
  nextCursor: string | undefined;
}

/** The order of a list: one or two columns that together are unique, all in one direction. */
export interface ListOrder {
  /** The columns by name with the type of their values: the type guards the database against a forged cursor. */
  columns: Readonly<Record<string, 'whole' | 'id'>>;
  direction: 'asc' | 'desc';
  /** The largest offset; absent when there is none. */
  maxOffset?: number;
}

type Position = (number | string)[];

/**
 * Returns a page of the rows of a query, in the order of the list, and where the page ends.
 * @throws GatehouseError `invalid_request` as afterCursor().
 */
export async function readPage<DB, TB extends keyof DB, Row extends object>(
  query: SelectQueryBuilder<DB, TB, Row>,
  order: ListOrder,
  page: PageRequest,
): Promise<PageEnd & { rows: Row[] }> {
  let ordered = query.where(afterCursor(order, page));
  for (const column of Object.keys(order.columns))
    ordered = ordered.orderBy(sql.ref(column), order.direction);
  const rows: Row[] = await ordered
    .limit(page.limit + 1)
    .offset(page.offset)
    .execute();
  return cutPage(order, page, rows);
}

/**
 * Returns the condition for the rows of a page: those after its cursor, or every row where it has none.
 * @throws GatehouseError `invalid_request` for an offset too deep or next to a cursor, and a cursor that no page gave.
 */
export function afterCursor(
  { columns, direction, maxOffset = Infinity }: ListOrder,
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
  const [first, second] = Object.keys(columns);
  const [value, lastId] = readCursor(columns, cursor);
  const beyond = sql.raw(direction === 'desc' ? '<' : '>');
  if (second === undefined) return sql<boolean>`${sql.ref(first ?? '')} ${beyond} ${value}`;
  // The first comparison lets the index begin at the cursor; with the second alone it would begin at the first row.
  return sql<boolean>`${sql.ref(first ?? '')} ${beyond}= ${value}
    and (${sql.ref(first ?? '')} ${beyond} ${value} or ${sql.ref(second)} ${beyond} ${lastId})`;
}

/** Cuts `limit + 1` rows to a page. */
export function cutPage<Row extends object>(
  { columns, maxOffset = Infinity }: ListOrder,
  { limit, offset, cursor }: PageRequest,
  rows: readonly Row[],
): PageEnd & { rows: Row[] } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  if (rows.length <= limit || last === undefined)
    return { rows: page, hasMore: false, nextOffset: undefined, nextCursor: undefined };
  const next = offset + page.length;
  const values = new Map<string, unknown>(Object.entries(last));
  const position = Object.keys(columns).map((column) => values.get(column));
  return {
    rows: page,
    hasMore: true,
    nextOffset: cursor === undefined && next <= maxOffset ? next : undefined,
    nextCursor: Buffer.from(JSON.stringify(position)).toString('base64url'),
  };
}

const VALUES = { whole: z.int(), id: z.string().regex(/^[\x21-\x7e]{1,64}$/) };
const texts = z.array(z.unknown());

function readCursor(columns: ListOrder['columns'], cursor: string): Position {
  const types = Object.values(columns);
  try {
    const values = texts.length(types.length).parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
    return types.map((type, at) => VALUES[type].parse(values[at]));
  } catch {
    throw invalidRequest([{ field: 'cursor', rule: 'must be the pagination.nextCursor of a page before' }]);
  }
}
