import type { Tx } from '../../schema.ts';
import { index, stamped } from '../table-parts.ts';

/** Creates the MCP servers, their policy, and their calls that wait or run on. */
export async function createServerTables(tx: Tx): Promise<void> {
  await servers(tx);
  await approvedDefinitions(tx);
  await spentTokens(tx);
  await callWindows(tx);
  await programs(tx);
  await tasks(tx);
}

async function servers(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('servers')
    .addColumn('server_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('name_key', 'text', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull())
    .addColumn('custom_instructions', 'text', (c) => c.notNull())
    .addColumn('restrictions', 'text', (c) => c.notNull())
    .addColumn('tool_mode', 'text', (c) => c.notNull())
    .addColumn('owner_user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
    .addColumn('bound', 'integer', (c) => c.notNull())
    .addColumn('token_hash', 'text', (c) => c.notNull().unique())
    .addColumn('token_sealed', 'text', (c) => c.notNull())
    .addColumn('token_expires_at', 'bigint')
    .addColumn('enabled', 'integer', (c) => c.notNull())
    .$call(stamped)
    .addColumn('pin_tools', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('budgets', 'text', (c) => c.notNull().defaultTo('[]'))
    .addColumn('duplicate_guard', 'text', (c) => c.notNull().defaultTo('on'))
    .addColumn('circuit', 'text', (c) => c.notNull().defaultTo('{"failures":10,"openSeconds":60}'))
    .addColumn('code_mode', 'text', (c) => c.notNull().defaultTo('auto'))
    .addUniqueConstraint('servers_name', ['environment', 'name_key'])
    .execute();
  await index(tx, 'servers', ['owner_user_id']);
  await index(tx, 'servers', ['environment', 'created_at', 'server_id']);
  // `bound` comes last, so one index serves both lists of an owner, and counts them without reading a row.
  await index(tx, 'servers', ['environment', 'owner_user_id', 'created_at', 'server_id', 'bound']);
  // Counts servers. `enabled` comes first, so that no list of an environment chooses this index.
  await index(tx, 'servers', ['enabled', 'environment']);
}

async function approvedDefinitions({ schema }: Tx): Promise<void> {
  await schema
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
}

async function spentTokens(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('spent_tokens')
    .addColumn('token_id', 'text', (c) => c.primaryKey())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'spent_tokens', ['expires_at']);
}

async function callWindows(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('call_windows')
    .addColumn('window_hash', 'text', (c) => c.primaryKey())
    .addColumn('calls', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'call_windows', ['expires_at']);
}

async function programs(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('programs')
    .addColumn('program_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('server_id', 'text', (c) => c.notNull().references('servers.server_id').onDelete('cascade'))
    .addColumn('user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text')
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'programs', ['expires_at']);
  await index(tx, 'programs', ['server_id']);
  await index(tx, 'programs', ['user_id']);
}

async function tasks(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('tasks')
    .addColumn('task_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('server_id', 'text', (c) => c.notNull().references('servers.server_id').onDelete('cascade'))
    .addColumn('user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('actions', 'text', (c) => c.notNull())
    .addColumn('may_write', 'integer', (c) => c.notNull())
    .addColumn('sealed', 'text')
    .addColumn('bytes', 'integer', (c) => c.notNull())
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('lease_until', 'bigint')
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .$call(stamped)
    .execute();
  await index(tx, 'tasks', ['expires_at']);
  await index(tx, 'tasks', ['server_id', 'user_id']);
  await index(tx, 'tasks', ['user_id']);
}
