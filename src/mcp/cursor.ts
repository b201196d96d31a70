import { GatehouseError } from '../lib/errors.ts';

/** One page of a list and the cursor of the next. @throws GatehouseError `invalid_request` for a cursor not ours. */
export function pageAt<T>(
  all: readonly T[],
  cursor: string | undefined,
  size: number,
): { page: readonly T[]; nextCursor: string | undefined } {
  const start = cursor === undefined ? 0 : startOf(cursor);
  const end = start + size;
  return { page: all.slice(start, end), nextCursor: end < all.length ? cursorOf(end) : undefined };
}

function cursorOf(position: number): string {
  return Buffer.from(`at:${position}`).toString('base64url');
}

function startOf(cursor: string): number {
  const match = /^at:(\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString());
  if (match?.[1] && cursorOf(Number(match[1])) === cursor) return Number(match[1]);
  throw new GatehouseError('invalid_request', 'The cursor is not one that a list here gave.');
}
