import type { Json } from './json-values.ts';

/* The records of a list by their positions. Pages that are not here yet are read from the server. */

export const PAGE_ROWS = 50;

/** Records from a position on. `total`: the number of all records, once it is known. */
export interface Chunk {
  rows: Json[];
  total?: number | undefined;
}

export interface RecordPages {
  /** Position of the first record of the current page. */
  readonly start: number;
  /** Records of the current page. */
  readonly rows: Json[];
  /** Number of all records; undefined while it is unknown. */
  readonly total: number | undefined;
  /** Whether no page follows, or none can be read. */
  readonly isLast: boolean;
  /** Moves to the page that begins at a position. @throws Error of `read` */
  go(start: number): Promise<void>;
}

/**
 * Returns the pages of a list whose first records are known. `read` returns the records from a position on, at least one
 * where the list goes on; undefined when no more can be read.
 */
export function createPages(
  { start, rows, total }: Chunk & { start: number },
  read: ((position: number) => Promise<Chunk>) | undefined,
): RecordPages {
  const held = new Map<number, Json>();
  let end = total;
  let from = start;
  const hold = (position: number, found: Json[]) => {
    for (const [index, row] of found.entries()) held.set(position + index, row);
  };
  hold(start, rows);
  const pageAt = (first: number): Json[] => {
    const page: Json[] = [];
    for (let at = first; at < first + PAGE_ROWS && held.has(at); at++) page.push(held.get(at) ?? null);
    return page;
  };
  return {
    get start() {
      return from;
    },
    get rows() {
      return pageAt(from);
    },
    get total() {
      return end;
    },
    get isLast() {
      const next = from + pageAt(from).length;
      return (end !== undefined && next >= end) || (!read && !held.has(next));
    },
    async go(to) {
      const wanted = Math.max(0, to);
      for (let at = wanted; at < Math.min(wanted + PAGE_ROWS, end ?? Infinity); at++) {
        if (held.has(at)) continue;
        if (!read) break;
        const chunk = await read(at);
        hold(at, chunk.rows);
        end = chunk.total ?? (chunk.rows.length === 0 ? at : end);
        if (chunk.rows.length === 0) break;
      }
      // A list that ends exactly before this page has no such page.
      if (held.has(wanted)) from = wanted;
    },
  };
}
