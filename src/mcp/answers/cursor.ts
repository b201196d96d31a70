import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Base } from '../../base.ts';
import { storedSecret } from '../../identity/secrets.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { Grant } from '../scope/grant.ts';

const keyOf = storedSecret('cursor-key');

/** Bytes of the keyed hash in a cursor. */
const HASH_BYTES = 16;

/** The owner of a cursor. A cursor is valid only for the server and user that it was issued to. */
export interface CursorScope {
  context: Pick<Base, 'db' | 'keys' | 'clock'>;
  grant: Pick<Grant, 'environment' | 'live' | 'userId'>;
}

/**
 * Returns one page of a list and the cursor of the next page.
 * @throws GatehouseError `invalid_request` for a cursor that was not issued for this list, server and user.
 */
export async function pageAt<T>(
  scope: CursorScope,
  { list, all, cursor, size }: { list: string; all: readonly T[]; cursor: string | undefined; size: number },
): Promise<{ page: readonly T[]; nextCursor: string | undefined }> {
  const start = await startOf(scope, list, cursor);
  const end = start + size;
  const nextCursor = end < all.length ? await cursorOf(scope, list, end) : undefined;
  return { page: all.slice(start, end), nextCursor };
}

/** Returns the cursor of the page that begins at a position of a list. */
export async function cursorOf(
  { context, grant }: CursorScope,
  list: string,
  position: number,
): Promise<string> {
  const { environment, live, userId = null } = grant;
  const hash = createHmac('sha256', await keyOf(context))
    .update(JSON.stringify([environment, live.server.serverId, userId, list, position]))
    .digest()
    .subarray(0, HASH_BYTES);
  return `${position}.${hash.toString('base64url')}`;
}

/**
 * Returns the position where the page of a cursor begins; 0 without one. A blank cursor is none, because models fill optional
 * texts with "".
 * @throws GatehouseError `invalid_request` for a cursor that was not issued for this list, server and user.
 */
export async function startOf(scope: CursorScope, list: string, cursor: string | undefined): Promise<number> {
  if (cursor === undefined || cursor.trim() === '') return 0;
  const position = /^(\d{1,9})\./.exec(cursor)?.[1];
  const genuine = position === undefined ? '' : await cursorOf(scope, list, Number(position));
  const given = Buffer.from(cursor);
  const wanted = Buffer.from(genuine);
  if (given.length === wanted.length && timingSafeEqual(given, wanted)) return Number(position);
  throw new GatehouseError(
    'invalid_request',
    'The cursor is not one that this list gave. Begin again without a cursor.',
  );
}
