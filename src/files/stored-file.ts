import { createSecretKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { decrypt, encrypt } from '../crypto/aes-gcm.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Environment } from '../store/environments.ts';
import type { Tables } from '../store/schema.ts';
import type { Context } from './context.ts';
import { CHUNK_BYTES } from './file-limits.ts';
import { boundTo } from '../store/sealed-columns.ts';

/** The owner of a file. */
export interface FileOwner {
  environment: Environment;
  userId: string;
}

/** A stored file. Times are epoch milliseconds. */
export interface StoredFile {
  fileId: string;
  size: number;
  /** Hexadecimal. */
  sha256: string;
  mediaType: string;
  /** Name that the sender gave it. */
  name: string | undefined;
  /** Count of its chunks. */
  chunks: number;
  expiresAt: number;
  key: KeyObject;
}

/** The members of `files.sealed`. */
export const fileFacts = z.object({
  key: z.string(),
  sha256: z.string(),
  mediaType: z.string(),
  name: z.string().optional(),
});
export type FileFacts = z.infer<typeof fileFacts>;

export function sealFacts({ keys }: Pick<Context, 'keys'>, fileId: string, facts: FileFacts): string {
  return keys.sealJson(facts, boundTo('files.sealed', { file_id: fileId }));
}

/**
 * Returns the file of this user.
 * @throws GatehouseError `file_not_found`, also for a file of another user or environment, one that expired, and one
 * that still arrives.
 */
export async function requireFile(
  { db, clock, keys }: Pick<Context, 'db' | 'clock' | 'keys'>,
  { environment, userId }: FileOwner,
  fileId: string,
): Promise<StoredFile> {
  const row = await db
    .selectFrom('files')
    .selectAll()
    .where('file_id', '=', fileId)
    .where('environment', '=', environment)
    .where('user_id', '=', userId)
    .where('expires_at', '>', clock.now())
    .executeTakeFirst();
  if (!row || row.sealed === null) throw fileNotFound(fileId);
  return toFile(row, keys.openJson(fileFacts, row.sealed, boundTo('files.sealed', row)));
}

export function toFile(row: Tables['files'], { key, sha256, mediaType, name }: FileFacts): StoredFile {
  return {
    fileId: row.file_id,
    size: row.bytes,
    sha256,
    mediaType,
    name,
    chunks: row.chunks,
    expiresAt: row.expires_at,
    key: createSecretKey(key, 'base64'),
  };
}

export function fileNotFound(fileId: string): GatehouseError {
  return new GatehouseError(
    'file_not_found',
    `There is no file "${fileId.slice(0, 64)}" of this user. Files are stored for 24 hours; upload it again.`,
  );
}

/** Encrypts a chunk. It is bound to its place, so that chunks cannot be exchanged. */
export function sealChunk(key: KeyObject, content: Buffer, place: { fileId: string; chunk: number }): Buffer {
  return encrypt(key, content, chunkBinding(place));
}

/**
 * Returns a chunk of a file, decrypted. Chunks count from 1.
 * @throws GatehouseError `file_not_found` when the file was deleted.
 */
export async function readChunk(
  { db }: Pick<Context, 'db'>,
  { fileId, key }: Pick<StoredFile, 'fileId' | 'key'>,
  chunk: number,
): Promise<Buffer> {
  const row = await db
    .selectFrom('file_chunks')
    .select('content')
    .where('file_id', '=', fileId)
    .where('chunk', '=', chunk)
    .executeTakeFirst();
  if (!row) throw fileNotFound(fileId);
  return decrypt(key, row.content, chunkBinding({ fileId, chunk }));
}

/**
 * Yields the content of a file, or the part before `to`, with one chunk in memory at a time.
 * @throws as readChunk()
 */
export async function* contentOf(
  context: Pick<Context, 'db'>,
  file: StoredFile,
  { from, to }: { from: number; to: number } = { from: 0, to: file.size },
): AsyncGenerator<Buffer> {
  for (let at = from; at < to;) {
    const begin = at - (at % CHUNK_BYTES);
    const chunk = await readChunk(context, file, begin / CHUNK_BYTES + 1);
    yield chunk.subarray(at - begin, to - begin);
    at = begin + CHUNK_BYTES;
  }
}

function chunkBinding({ fileId, chunk }: { fileId: string; chunk: number }): string {
  return `file_chunk|${fileId}|${chunk}`;
}
