import { sql } from 'kysely';
import { inSteps } from '../store/batches.ts';
import type { DbOrTx } from '../store/schema.ts';
import type { FileOwner } from './stored-file.ts';

/* Chunks are deleted in steps before their file, because the cascade of a large file would hold SQLite's one writer. */

/** Deletes a file. Returns whether there was one. */
export async function deleteFile(db: DbOrTx, fileId: string): Promise<boolean> {
  await deleteChunks(db, sql`file_id = ${fileId}`);
  const { numDeletedRows } = await db.deleteFrom('files').where('file_id', '=', fileId).executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Deletes the content of a user's files before the user is deleted. Files that arrive later go with the user. */
export async function deleteFilesOf(db: DbOrTx, { environment, userId }: FileOwner): Promise<void> {
  const owned = sql`environment = ${environment} and user_id = ${userId}`;
  await deleteChunks(db, sql`file_id in (select file_id from files where ${owned})`);
  await sql`delete from files where ${owned}`.execute(db);
}

/** Deletes expired files, and those whose arrival did not end. */
export async function deleteExpiredFiles(db: DbOrTx, now: number): Promise<void> {
  const expired = sql`expires_at <= ${now}`;
  await deleteChunks(db, sql`file_id in (select file_id from files where ${expired})`);
  await sql`delete from files where ${expired}`.execute(db);
}

async function deleteChunks(db: DbOrTx, which: ReturnType<typeof sql>): Promise<void> {
  await inSteps(async (limit) => {
    const { numAffectedRows } = await sql`delete from file_chunks where (file_id, chunk) in
      (select file_id, chunk from file_chunks where ${which} limit ${limit})`.execute(db);
    return numAffectedRows ?? 0n;
  });
}
