import { sql } from 'kysely';
import type { Tx } from './schema.ts';
import { index } from './migration-helpers.ts';

/**
 * Stores large results in pages, so that reading one page opens no more than that page. The old rows are dropped,
 * because they expired after an hour.
 */
export async function largeResults(tx: Tx): Promise<void> {
  const { schema } = tx;
  await schema.dropTable('results').execute();
  await schema
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

  await schema
    .createTable('result_pages')
    .addColumn('result_id', 'text', (c) => c.notNull().references('results.result_id').onDelete('cascade'))
    .addColumn('page', 'integer', (c) => c.notNull())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('result_pages_key', ['result_id', 'page'])
    .execute();
}

/** Adds the search index of actions on PostgreSQL. SQLite's index is in memory, and leaves this table empty. */
export async function searchDocuments(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('search_documents')
    .addColumn('document', 'text', (c) => c.primaryKey())
    .addColumn('terms', sql`tsvector`, (c) => c.notNull())
    .addColumn('used_at', 'bigint', (c) => c.notNull())
    .execute();
  await tx.schema
    .createIndex('search_documents_by_used_at')
    .on('search_documents')
    .column('used_at')
    .execute();
}

/** Drops the search index of PostgreSQL, because the index is in memory with both databases. */
export async function searchInMemory(tx: Tx): Promise<void> {
  await tx.schema.dropTable('search_documents').execute();
}
