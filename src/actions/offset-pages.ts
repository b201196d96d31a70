import { isDeepStrictEqual } from 'node:util';
import type { Paging } from '../connectors/format/format.ts';
import { fillTemplate } from '../connectors/templates.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import type { UpstreamCall } from '../upstream/upstream-call.ts';
import { countAt, isTruthy, valueAtPlace, type UpstreamPage } from './places.ts';
import type { Positions } from './positions.ts';
import { readSequential } from './walk.ts';
import type { ListPage, ListSource, Window } from './list-page.ts';

type NumberedPaging = Extract<Paging, { style: 'page' }>;
type OffsetPaging = Extract<Paging, { style: 'offset' }>;

/**
 * Returns any window of any list, whether the third party pages by offsets, page numbers, cursors, keys, links or not
 * at all. `hasMore` comes from the third party (a flag, a total, a next page), else from whether the last page was
 * full.
 * @throws GatehouseError upstream_* of the calls; see walk.ts for lists that are read in order.
 */
export async function readPage(source: ListSource, positions: Positions, window: Window): Promise<ListPage> {
  const { paging } = source;
  switch (paging.style) {
    case 'offset':
      return readByOffset(source, paging, window);
    case 'page':
      return readByNumber(source, paging, { window });
    case 'none':
      return cut(await source.fetch(undefined), window);
    default:
      return readSequential(source, paging, { positions, window });
  }
}

/** Returns the page size of a list when the caller names none. */
export function defaultLimit(paging: Paging, max: number): number {
  const size = paging.style === 'none' ? undefined : paging.defaultLimit;
  return Math.min(max, size ?? paging.maxLimit);
}

async function readByOffset(
  source: ListSource,
  paging: OffsetPaging,
  { limit, offset, isPromised = false }: Window,
): Promise<ListPage> {
  const records: Json[] = [];
  let promised = isPromised;
  for (;;) {
    const at = offset + records.length;
    const wanted = limit - records.length;
    const isSized = paging.limitParam !== undefined || paging.range !== undefined;
    const size = isSized ? Math.min(paging.maxLimit, wanted) : undefined;
    const firstPage = offsetPage(paging, 0, size);
    const page = await fetchOrEnd(source, offsetPage(paging, at, size), at > 0 && firstPage);
    if (!page) return promised ? { records, hasMore: true, isPromised: true } : { records, hasMore: false };
    // The page has more records than requested: either the list from there on, or the whole list of an app that
    // ignores offsets.
    if (page.records.length > wanted && at > 0) {
      const first = await source.fetch(firstPage);
      if (isDeepStrictEqual(first.records[0], page.records[0])) return cut(first, { limit, offset });
    }
    records.push(...page.records.slice(0, wanted));
    if (page.records.length > wanted) return { records, hasMore: true };
    const more = hasNext(paging, page, { passed: at + page.records.length, size });
    promised = more && isStated(paging, page);
    if (!more || records.length >= limit)
      return { records, hasMore: more, ...(promised && { isPromised: true }) };
  }
}

function offsetPage(paging: OffsetPaging, at: number, size: number | undefined) {
  const from = at + paging.firstOffset;
  const numbers: Record<string, number> = { from, to: from + (size ?? 1) - 1, size: size ?? 1 };
  const params: Record<string, string | number> = {
    [paging.offsetParam]:
      paging.range === undefined ? from : fillTemplate(paging.range, (name) => String(numbers[name] ?? '')),
  };
  if (paging.limitParam !== undefined && size !== undefined) params[paging.limitParam] = size;
  return { params };
}

/**
 * Reads a window by page numbers. The size is chosen so that one page holds the window whenever some size does. A
 * third party that answers with pages of another size also counts page numbers by that size, so a number leads to
 * other records. A page of the wrong length, or after the end, is therefore compared with the first page. If the sizes
 * differ, the window is read again by the real size. This costs a list one more call at its end. It misses one case:
 * an app that ignores the size parameter, and whose last page has by chance the requested length.
 */
async function readByNumber(
  source: ListSource,
  paging: NumberedPaging,
  {
    window: { limit, offset, isPromised = false },
    measured,
  }: { window: Window; measured?: number | undefined },
): Promise<ListPage> {
  const size = measured ?? sizeFor(paging, { limit, offset });
  const fullSize = measured === undefined && paging.limitParam === undefined ? paging.defaultLimit : size;
  let trusted = measured !== undefined;
  const records: Json[] = [];
  let promised = isPromised;
  const end = offset + limit;
  for (let index = Math.floor(offset / size); ; index++) {
    const start = index * size;
    const page = await fetchOrEnd(
      source,
      numbered(paging, index, size),
      index > 0 && numbered(paging, 0, size),
    );
    const got = page?.records.length ?? 0;
    const more = page !== undefined && hasNext(paging, page, { passed: start + got, size: fullSize, index });
    if (!trusted && (got > size || (got < size && (more || index > 0)))) {
      const first = index === 0 && page ? page : await source.fetch(numbered(paging, 0, size));
      const firstSize = first.records.length;
      // An empty page after the end is correct, unless the first page is longer than requested.
      const differs = got === 0 ? firstSize > size : firstSize > 0 && firstSize !== size;
      if (differs)
        return readByNumber(source, paging, { window: { limit, offset, isPromised }, measured: firstSize });
      trusted = true;
    }
    if (!page) return promised ? { records, hasMore: true, isPromised: true } : { records, hasMore: false };
    if (got === 0) return { records, hasMore: false };
    records.push(...page.records.slice(Math.max(0, offset - start), end - start));
    promised = more && isStated(paging, page);
    if (!more || start + size >= end)
      return { records, hasMore: more || start + got > end, ...(promised && { isPromised: true }) };
  }
}

function numbered(paging: NumberedPaging, index: number, size: number) {
  const params: Record<string, string | number> = { [paging.pageParam]: index + paging.firstPage };
  if (paging.limitParam !== undefined) params[paging.limitParam] = size;
  return { params };
}

/** Returns the smallest page size with a page that holds the whole window, else the largest size. */
function sizeFor(paging: NumberedPaging, { limit, offset }: Window): number {
  if (paging.limitParam === undefined) return paging.defaultLimit ?? paging.maxLimit;
  for (let size = limit; size <= paging.maxLimit; size++) {
    if (Math.floor(offset / size) === Math.floor((offset + limit - 1) / size)) return size;
  }
  return paging.maxLimit;
}

/** Returns whether records follow the first `passed`: by the third party's flag, its totals, else a full page. */
function hasNext(
  paging: OffsetPaging | NumberedPaging,
  page: UpstreamPage,
  { passed, size, index = 0 }: { passed: number; size: number | undefined; index?: number },
): boolean {
  if (page.records.length === 0) return false;
  if (paging.hasMore !== undefined) return isTruthy(valueAtPlace(paging.hasMore, page));
  const total = countAt(paging.total, page);
  if (total !== undefined) return passed < total;
  const pages = paging.style === 'page' ? countAt(paging.totalPages, page) : undefined;
  if (pages !== undefined) return index + 1 < pages;
  return page.records.length >= (size ?? paging.defaultLimit ?? 1);
}

/** Returns whether the third party itself says if more follow. */
function isStated(paging: OffsetPaging | NumberedPaging, page: UpstreamPage): boolean {
  if (paging.hasMore !== undefined || countAt(paging.total, page) !== undefined) return true;
  return paging.style === 'page' && countAt(paging.totalPages, page) !== undefined;
}

/**
 * Returns the page, or undefined when it lies after the end. Some third parties refuse such a page instead of
 * answering with none. The refusal counts as the end only when the first page of the same list is not refused.
 */
async function fetchOrEnd(
  source: ListSource,
  page: UpstreamCall['page'],
  firstPage: UpstreamCall['page'] | false,
): Promise<UpstreamPage | undefined> {
  try {
    return await source.fetch(page);
  } catch (error) {
    if (!firstPage || !(error instanceof GatehouseError) || error.code !== 'upstream_rejected') throw error;
    try {
      await source.fetch(firstPage);
    } catch {
      throw error;
    }
    return undefined;
  }
}

function cut(page: UpstreamPage, { limit, offset }: Window): ListPage {
  const end = offset + limit;
  return { records: page.records.slice(offset, end), hasMore: page.records.length > end };
}
