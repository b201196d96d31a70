import { sql } from 'kysely';
import { isPostgres } from '../../prepared.ts';
import type { Tx } from '../../schema.ts';
import { index } from '../table-parts.ts';

/** Creates the large results and the files of users. */
export async function createResultTables(tx: Tx): Promise<void> {
  await results(tx);
  await resultPages(tx);
  await files(tx);
  await fileChunks(tx);
}

async function results(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('results')
    .addColumn('result_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('server_id', 'text', (c) => c.notNull().references('servers.server_id').onDelete('cascade'))
    .addColumn('user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('connector_id', 'text')
    .addColumn('action_id', 'text')
    .addColumn('bytes', 'integer', (c) => c.notNull())
    .addColumn('pages', 'integer', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'results', ['expires_at']);
  await index(tx, 'results', ['server_id', 'user_id']);
  await index(tx, 'results', ['user_id']);
  await index(tx, 'results', ['created_at']);
}

async function resultPages({ schema }: Tx): Promise<void> {
  // Reading one page of a result opens no more than that page.
  await schema
    .createTable('result_pages')
    .addColumn('result_id', 'text', (c) => c.notNull().references('results.result_id').onDelete('cascade'))
    .addColumn('page', 'integer', (c) => c.notNull())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('result_pages_key', ['result_id', 'page'])
    .execute();
}

async function files(tx: Tx): Promise<void> {
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
}

async function fileChunks(tx: Tx): Promise<void> {
  // No statement holds a whole file.
  await tx.schema
    .createTable('file_chunks')
    .addColumn('file_id', 'text', (c) => c.notNull().references('files.file_id').onDelete('cascade'))
    .addColumn('chunk', 'integer', (c) => c.notNull())
    .addColumn('content', isPostgres(tx) ? sql`bytea` : sql`blob`, (c) => c.notNull())
    .addPrimaryKeyConstraint('file_chunks_key', ['file_id', 'chunk'])
    .execute();
}
