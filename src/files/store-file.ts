import { createHash, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { orUserNotFound, userNotFound } from '../identity/users.ts';
import { GatehouseError } from '../lib/errors.ts';
import { MIB } from '../lib/http/http-body.ts';
import { newId } from '../lib/ids.ts';
import { isPostgres } from '../store/prepared.ts';
import type { Tables, Tx } from '../store/schema.ts';
import type { Context } from './context.ts';
import { deleteFile } from './delete-files.ts';
import { ARRIVAL_MS, CHUNK_BYTES, KEPT_MS, MAX_FILE_BYTES } from './file-limits.ts';
import { sealChunk, sealFacts, toFile, type FileOwner, type StoredFile } from './stored-file.ts';

/** A file that arrives. */
export interface Arriving {
  content: AsyncIterable<Uint8Array>;
  mediaType: string;
  name?: string | undefined;
  /** Its size as announced; undefined when the sender does not know it. */
  announced?: number | undefined;
}

/**
 * Stores a file for 24 hours, encrypted in chunks, with one chunk in memory at a time. A file that does not arrive
 * whole leaves nothing.
 * @throws GatehouseError `limit_reached`, `payload_too_large`, `user_not_found`, and every error of the content.
 */
export async function storeFile(
  context: Context,
  owner: FileOwner,
  { content, mediaType, name, announced }: Arriving,
): Promise<StoredFile> {
  const { db, clock, log } = context;
  const row = await reserve(context, owner, announced);
  const fileId = row.file_id;
  try {
    const key = randomBytes(32);
    const written = await writeChunks(context, atMost(context, content, { announced, reserved: row.bytes }), {
      fileId,
      userId: owner.userId,
      key,
    });
    const facts = { key: key.toString('base64'), sha256: written.sha256, mediaType, name };
    const whole = {
      bytes: written.bytes,
      chunks: written.chunks,
      sealed: sealFacts(context, fileId, facts),
      expires_at: clock.now() + KEPT_MS,
    };
    const { numUpdatedRows } = await db
      .updateTable('files')
      .set(whole)
      .where('file_id', '=', fileId)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw userNotFound(owner.userId);
    return toFile({ ...row, ...whole }, facts);
  } catch (error) {
    // A full store may refuse the deletion too. The sweep then deletes the rest after an hour.
    await deleteFile(db, fileId).catch((left: unknown) =>
      log.warn({ fileId, err: left }, 'partial file not deleted, will expire'),
    );
    throw error;
  }
}

/**
 * Inserts the row of a file that will arrive. The reserved size counts, so that concurrent uploads cannot pass the
 * limit together.
 */
async function reserve(
  { config, db, clock }: Context,
  { environment, userId }: FileOwner,
  announced: number | undefined,
): Promise<Tables['files']> {
  const now = clock.now();
  const row: Tables['files'] = {
    file_id: newId('file'),
    environment,
    user_id: userId,
    bytes: Math.min(announced ?? MAX_FILE_BYTES, MAX_FILE_BYTES),
    chunks: 0,
    sealed: null,
    expires_at: now + ARRIVAL_MS,
    created_at: now,
  };
  await db.transaction().execute(async (tx) => {
    const used = await usedBy(tx, { environment, userId }, now);
    const left = config.filesOfUser.maxBytes - used.bytes;
    // A content of unknown size may take what is left. One byte stands for a content where nothing is left.
    if (announced === undefined) row.bytes = Math.max(1, Math.min(row.bytes, left));
    assertFits(config.filesOfUser, row.bytes, used);
    await tx.insertInto('files').values(row).execute();
  });
  return row;
}

/** The files of one user together. */
interface Files {
  count: number;
  bytes: number;
}

/** Returns the user's files together. Locks the user, because two uploads may reserve at the same time. */
async function usedBy(tx: Tx, { environment, userId }: FileOwner, now: number): Promise<Files> {
  const user = await tx
    .selectFrom('users')
    .select('user_id')
    .where('user_id', '=', userId)
    .where('environment', '=', environment)
    .$if(isPostgres(tx), (query) => query.forUpdate())
    .executeTakeFirst();
  if (!user) throw userNotFound(userId);
  const { bytes, count } = await tx
    .selectFrom('files')
    .select((e) => [
      e.fn.coalesce(e.fn.sum<number>('bytes'), e.lit(0)).as('bytes'),
      e.fn.countAll<number>().as('count'),
    ])
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow();
  return { bytes: Number(bytes), count: Number(count) };
}

/** @throws GatehouseError `limit_reached` when a file of this size does not fit next to the user's others. */
function assertFits(
  { maxCount, maxBytes }: Context['config']['filesOfUser'],
  size: number,
  { count, bytes }: Files,
): void {
  if (bytes + size > maxBytes) throw tooManyBytes(maxBytes, bytes);
  if (count < maxCount) return;
  throw new GatehouseError('limit_reached', `A user may have ${maxCount} files at a time. ${MAKE_ROOM}`, {
    details: { limit: maxCount, used: count },
  });
}

const MAKE_ROOM = 'Delete some, or wait until they expire after 24 hours.';

function tooManyBytes(maxBytes: number, used: number): GatehouseError {
  return new GatehouseError(
    'limit_reached',
    `The files of a user may take ${maxBytes / MIB} MiB together, and this user's take ${Math.ceil(used / MIB)} ` +
      `MiB. ${MAKE_ROOM}`,
    { details: { limit: maxBytes, used } },
  );
}

/** Yields a content. One of unknown size is refused when it grows beyond the reserved size. */
async function* atMost(
  { config }: Context,
  content: AsyncIterable<Uint8Array>,
  { announced, reserved }: { announced: number | undefined; reserved: number },
): AsyncGenerator<Uint8Array> {
  const { maxBytes } = config.filesOfUser;
  let bytes = 0;
  for await (const piece of content) {
    bytes += piece.length;
    if (announced === undefined && bytes > reserved && reserved < MAX_FILE_BYTES)
      throw tooManyBytes(maxBytes, maxBytes - reserved);
    yield piece;
  }
}

async function writeChunks(
  { db }: Context,
  content: AsyncIterable<Uint8Array>,
  { fileId, userId, key }: { fileId: string; userId: string; key: Buffer },
): Promise<{ bytes: number; chunks: number; sha256: string }> {
  const secret: KeyObject = createSecretKey(key);
  const hash = createHash('sha256');
  let bytes = 0;
  let chunks = 0;
  for await (const piece of inChunks(content)) {
    bytes += piece.length;
    if (bytes > MAX_FILE_BYTES) throw tooLarge();
    chunks += 1;
    hash.update(piece);
    const row = {
      file_id: fileId,
      chunk: chunks,
      content: sealChunk(secret, piece, { fileId, chunk: chunks }),
    };
    await orUserNotFound(userId, db.insertInto('file_chunks').values(row).execute());
  }
  return { bytes, chunks, sha256: hash.digest('hex') };
}

function tooLarge(): GatehouseError {
  return new GatehouseError('payload_too_large', `The file is larger than ${MAX_FILE_BYTES / MIB} MiB.`, {
    headers: { Connection: 'close' },
  });
}

/** Yields the content again in chunks of CHUNK_BYTES; the last one may be shorter. */
async function* inChunks(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = [];
  let size = 0;
  for await (const arrived of content) {
    for (let at = 0; at < arrived.length;) {
      const part = arrived.subarray(at, at + CHUNK_BYTES - size);
      held.push(part);
      size += part.length;
      at += part.length;
      if (size < CHUNK_BYTES) continue;
      yield Buffer.concat(held);
      held = [];
      size = 0;
    }
  }
  if (size > 0) yield Buffer.concat(held);
}
