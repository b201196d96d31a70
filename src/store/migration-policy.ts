import type { Tx } from './schema.ts';
import { index } from './migration-helpers.ts';

/** Adds used confirmation tokens, approved definitions, and notes of changes. */
export async function policy(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('spent_tokens')
    .addColumn('token_id', 'text', (c) => c.primaryKey())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'spent_tokens', ['expires_at']);

  await tx.schema
    .alterTable('servers')
    .addColumn('pin_tools', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
  await tx.schema
    .createTable('approved_definitions')
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('fingerprint', 'text', (c) => c.notNull())
    .addColumn('hashes', 'text', (c) => c.notNull())
    .addColumn('definitions', 'text', (c) => c.notNull())
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('approved_definitions_key', ['environment', 'connector_id'])
    .execute();

  await tx.schema
    .createTable('changes')
    .addColumn('change_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'changes', ['at']);
}
