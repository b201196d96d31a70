import { index } from './migration-helpers.ts';
import type { Tx } from './schema.ts';

/** Adds the inputs and outputs of calls, which an environment stores where its setting says so. */
export async function executionPayloads(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('execution_payloads')
    .addColumn('execution_id', 'text', (c) =>
      c.primaryKey().references('executions.execution_id').onDelete('cascade'),
    )
    .addColumn('user_id', 'text')
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'execution_payloads', ['user_id']);
  await index(tx, 'execution_payloads', ['expires_at']);
}

/** Adds the requests to the app that a call made, where it made several. */
export async function attemptsOfExecutions(tx: Tx): Promise<void> {
  await tx.schema.alterTable('executions').addColumn('attempts', 'text').execute();
}
