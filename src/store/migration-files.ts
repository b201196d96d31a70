import { sql } from 'kysely';
import { index } from './migration-helpers.ts';
import { isPostgres } from './prepared.ts';
import type { Tx } from './schema.ts';

/** Adds the files of users, in chunks, so that no statement holds a whole file. */
export async function files(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('files')
    .addColumn('file_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.user_id').onDelete('cascade'))
    .addColumn('bytes', 'integer', (c) => c.notNull())
    .addColumn('chunks', 'integer', (c) => c.notNull())
    .addColumn('sealed', 'text')
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'files', ['user_id']);
  await index(tx, 'files', ['expires_at']);
  await tx.schema
    .createTable('file_chunks')
    .addColumn('file_id', 'text', (c) => c.notNull().references('files.file_id').onDelete('cascade'))
    .addColumn('chunk', 'integer', (c) => c.notNull())
    .addColumn('content', isPostgres(tx) ? sql`bytea` : sql`blob`, (c) => c.notNull())
    .addPrimaryKeyConstraint('file_chunks_key', ['file_id', 'chunk'])
    .execute();
}
