import type { Paging } from '../connectors/format/format.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { countAt, isTruthy, nextLink, valueAtPlace, type UpstreamPage } from './places.ts';
import type { ListPage, ListSource, Window } from './list-page.ts';
import type { Position, Positions } from './positions.ts';
import { sha256 } from '../lib/sha256.ts';

type SequentialPaging = Extract<Paging, { style: 'cursor' | 'keyset' | 'link' }>;

/** Maximum number of upstream calls for one page. A far offset is reached in several requests. */
export const MAX_CALLS = 200;

const START: Position = { offset: 0, cursor: undefined, pages: 0, earlier: '' };

/**
 * Returns a page of a list that can only be read from one page to the next. It starts at the nearest stored
 * position, joins pages that are too small, and cuts pages that are too large. Offset 0 always starts from the
 * beginning.
 * @throws GatehouseError `invalid_request` when the offset is further than MAX_CALLS pages; the walked positions are
 * stored. `upstream_failed` when the third party repeats a page or leads to another origin.
 */
export async function readSequential(
  source: ListSource,
  paging: SequentialPaging,
  { positions, window }: { positions: Positions; window: Window },
): Promise<ListPage> {
  const known = window.offset === 0 ? undefined : await positions.nearest(window.offset);
  try {
    return await walk(source, paging, { positions, window, from: known ?? START });
  } catch (error) {
    // A third party may drop cursors sooner than we do. A refusal without a cursor is about the input.
    const isDropped = error instanceof GatehouseError && error.code === 'upstream_rejected';
    if (known === undefined || !isDropped || window.isExact) throw error;
    await positions.forget();
    return walk(source, paging, { positions, window, from: START });
  }
}

async function walk(
  source: ListSource,
  paging: SequentialPaging,
  { positions, window: { limit, offset }, from }: { positions: Positions; window: Window; from: Position },
): Promise<ListPage> {
  const records: Json[] = [];
  const passed: Position[] = [];
  const end = offset + limit;
  let at = from;
  for (let calls = 0; calls < MAX_CALLS; calls++) {
    const size = paging.limitParam === undefined ? undefined : Math.min(paging.maxLimit, end - at.offset);
    const page = await source.fetch(requestOf(paging, at, size));
    const next = cursorAfter(source, paging, { page, at, size });
    const pageEnd = at.offset + page.records.length;
    records.push(...page.records.slice(Math.max(0, offset - at.offset), end - at.offset));
    if (next !== undefined) {
      at = advance(source, at, { offset: pageEnd, cursor: next });
      passed.push(at);
    }
    if (next === undefined || pageEnd >= end) {
      await positions.remember(passed);
      return { records, hasMore: pageEnd > end || next !== undefined };
    }
  }
  await positions.remember(passed);
  const rule =
    `is more than ${MAX_CALLS} calls of the third party away, which reads its list only in order; ` +
    `${at.offset} records were passed and are remembered for an hour: repeat the call to go on from there`;
  throw invalidRequest([{ field: 'input.offset', rule }]);
}

function requestOf(paging: SequentialPaging, { cursor }: Position, size: number | undefined) {
  if (paging.style === 'link' && cursor !== undefined) return { url: cursor };
  if (paging.style === 'cursor' && paging.nextPath !== undefined && cursor !== undefined)
    return { params: { [paging.cursorParam]: cursor }, path: paging.nextPath };
  const params: Record<string, string | number> = {};
  if (paging.limitParam !== undefined && size !== undefined) params[paging.limitParam] = size;
  if (paging.style !== 'link' && cursor !== undefined) params[paging.cursorParam] = cursor;
  return { params };
}

/** Returns where the next page begins, or undefined when this was the last. */
function cursorAfter(
  source: ListSource,
  paging: SequentialPaging,
  { page, at, size }: { page: UpstreamPage; at: Position; size: number | undefined },
): string | undefined {
  if (paging.hasMore !== undefined && !isTruthy(valueAtPlace(paging.hasMore, page))) return undefined;
  const next = namedNext(source, paging, page);
  // Feeds answer an empty page and the same cursor when there is nothing new.
  if (next === undefined || (page.records.length === 0 && next === at.cursor)) return undefined;
  const named = paging.style === 'link' || (paging.style === 'cursor' && !paging.next.startsWith('last:'));
  if (named || paging.hasMore !== undefined) return next;
  // The last record's key says where a next page would begin, not that there is one.
  const total = countAt(paging.total, page);
  if (total !== undefined) return at.offset + page.records.length < total ? next : undefined;
  return page.records.length >= (size ?? paging.defaultLimit ?? 1) ? next : undefined;
}

function namedNext(source: ListSource, paging: SequentialPaging, page: UpstreamPage): string | undefined {
  const place = paging.style === 'keyset' ? `last:${paging.field}` : paging.next;
  let value = valueAtPlace(place, page);
  if (paging.style === 'link' && /^header:link$/i.test(place) && typeof value === 'string')
    value = nextLink(value);
  if (value === undefined || value === null || value === '' || value === false) {
    if (paging.style !== 'keyset' || page.records.length === 0) return undefined;
    throw failed(source, `its last record has no ${paging.field}, by which the next page is asked for`);
  }
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw failed(source, `its next page at ${place} is neither text nor a number`);
  }
  return paging.style === 'link' ? source.resolveLink(String(value)) : String(value);
}

/**
 * Returns the position after a page. It uses Brent's cycle detection, whose two values are part of the position. The
 * cursor at the last power of two pages is stored, and meeting it again shows a cycle of any length, over any number
 * of requests.
 */
function advance(
  source: ListSource,
  at: Position,
  { offset, cursor }: { offset: number; cursor: string },
): Position {
  const mark = sha256(cursor).slice(0, 22);
  if (mark === at.earlier) throw failed(source, 'it gives the same next page again and again');
  const pages = at.pages + 1;
  const isPowerOfTwo = (pages & (pages - 1)) === 0;
  return { offset, cursor, pages, earlier: isPowerOfTwo ? mark : at.earlier };
}

function failed(source: ListSource, what: string): GatehouseError {
  return new GatehouseError('upstream_failed', `${source.name} cannot be paged: ${what}.`);
}
