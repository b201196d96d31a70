/** A page of a list, as every list of Gatehouse answers. */
export interface Page<T> {
  data: T[];
  pagination: {
    hasMore: boolean;
    nextOffset?: number | undefined;
    nextCursor?: string | undefined;
  };
}

/** Where a page begins: after a cursor, or at an offset. The first page has neither. */
export interface Position {
  cursor?: string;
  offset?: number;
}

/**
 * Reads a list page by page, until its end or until the loop is left. Each page is requested when the loop arrives
 * there. Cursors are preferred, because offsets end at 10,000 in lists that have both.
 */
export async function* pages<T>(
  read: (position: Position) => Promise<Page<T>>,
): AsyncGenerator<Page<T>, void> {
  let position: Position | undefined = {};
  while (position !== undefined) {
    const page: Page<T> = await read(position);
    yield page;
    position = positionAfter(page);
  }
}

/** Reads the records of a list, over all its pages. */
export async function* records<T>(read: (position: Position) => Promise<Page<T>>): AsyncGenerator<T, void> {
  for await (const { data } of pages(read)) yield* data;
}

function positionAfter({
  pagination: { hasMore, nextCursor, nextOffset },
}: Page<unknown>): Position | undefined {
  if (!hasMore) return undefined;
  if (nextCursor !== undefined) return { cursor: nextCursor };
  return nextOffset === undefined ? undefined : { offset: nextOffset };
}
