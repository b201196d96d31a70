import type { Tx } from '../../schema.ts';
import { index } from '../table-parts.ts';

/** Creates the searches of agents and what they taught, and the problems that agents report. */
export async function createSearchTables(tx: Tx): Promise<void> {
  await searches(tx);
  await searchWords(tx);
  await fruitlessSearches(tx);
  await problemReports(tx);
}

async function searches(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('searches')
    .addColumn('search_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('server_id', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('query', 'text', (c) => c.notNull())
    .addColumn('words', 'text', (c) => c.notNull())
    .addColumn('hits', 'text', (c) => c.notNull())
    .addColumn('read_until', 'bigint', (c) => c.notNull())
    .addColumn('followed', 'integer', (c) => c.notNull())
    .execute();
  await index(tx, 'searches', ['server_id', 'caller']);
  await index(tx, 'searches', ['environment', 'at']);
  await index(tx, 'searches', ['at']);
  await index(tx, 'searches', ['user_id']);
}

async function searchWords(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('search_words')
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('word', 'text', (c) => c.notNull())
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('action_id', 'text', (c) => c.notNull())
    .addColumn('contributor', 'text', (c) => c.notNull())
    .addColumn('day', 'bigint', (c) => c.notNull())
    .addColumn('count', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('search_words_key', [
      'environment',
      'word',
      'connector_id',
      'action_id',
      'contributor',
      'day',
    ])
    .execute();
  await index(tx, 'search_words', ['contributor', 'day']);
  await index(tx, 'search_words', ['day']);
}

async function fruitlessSearches(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('fruitless_searches')
    .addColumn('search_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('query', 'text', (c) => c.notNull())
    .addColumn('count', 'integer', (c) => c.notNull())
    .addColumn('last_at', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('fruitless_searches_key', ['environment', 'query'])
    .execute();
  await index(tx, 'fruitless_searches', ['environment', 'last_at']);
  await index(tx, 'fruitless_searches', ['last_at']);
}

async function problemReports(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('problem_reports')
    .addColumn('report_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('server_id', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('tool', 'text')
    .addColumn('execution_id', 'text')
    .addColumn('message', 'text', (c) => c.notNull())
    .execute();
  await index(tx, 'problem_reports', ['environment', 'at']);
  await index(tx, 'problem_reports', ['caller', 'at']);
  await index(tx, 'problem_reports', ['user_id']);
  await index(tx, 'problem_reports', ['at']);
}
