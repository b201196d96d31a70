import { sql } from 'kysely';
import type { Tx } from '../../schema.ts';
import { index, stamped } from '../table-parts.ts';

/** Creates the keys, the settings, the users, and the people of the console. */
export async function createIdentityTables(tx: Tx): Promise<void> {
  await secrets(tx);
  await wrappedKeys(tx);
  await signingKeys(tx);
  await settings(tx);
  await apiKeys(tx);
  await users(tx);
  await consolePeople(tx);
  await consoleSessions(tx);
}

async function secrets({ schema }: Tx): Promise<void> {
  await schema
    .createTable('secrets')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
}

async function wrappedKeys({ schema }: Tx): Promise<void> {
  await schema
    .createTable('wrapped_keys')
    .addColumn('position', 'integer', (c) => c.primaryKey())
    .addColumn('key_id', 'text', (c) => c.notNull())
    .addColumn('wrapped', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
}

async function signingKeys({ schema }: Tx): Promise<void> {
  await schema
    .createTable('signing_keys')
    .addColumn('kid', 'text', (c) => c.primaryKey())
    .addColumn('public_jwk', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('retired_at', 'bigint')
    .execute();
}

async function settings({ schema }: Tx): Promise<void> {
  await schema
    .createTable('settings')
    .addColumn('environment', 'text', (c) => c.primaryKey())
    .addColumn('settings', 'text', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute();
}

async function apiKeys(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('api_keys')
    .addColumn('key_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('last_four', 'text', (c) => c.notNull())
    .addColumn('scopes', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('revoked_at', 'bigint')
    .addColumn('name', 'text')
    .addColumn('name_key', 'text')
    .addColumn('expires_at', 'bigint')
    .addColumn('last_used_at', 'bigint')
    // The secret before the last rotation stays valid for a while.
    .addColumn('previous_hash', 'text')
    .addColumn('previous_expires_at', 'bigint')
    .execute();
  await sql`create unique index api_keys_by_name on api_keys (environment, name_key)`.execute(tx);
  await sql`create unique index api_keys_by_previous_hash on api_keys (previous_hash)`.execute(tx);
}

async function users(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('users')
    .addColumn('user_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('username', 'text', (c) => c.notNull())
    .addColumn('metadata', 'text', (c) => c.notNull())
    .addColumn('enabled', 'integer', (c) => c.notNull())
    .addColumn('tokens_revoked_at', 'bigint')
    .$call(stamped)
    .addUniqueConstraint('users_username', ['environment', 'username'])
    .execute();
  // Lists have this order. Without the index each page sorts the whole table.
  await index(tx, 'users', ['environment', 'created_at', 'user_id']);
  // The count of users reads this index alone, and not each user.
  await index(tx, 'users', ['environment', 'enabled']);
}

async function consolePeople({ schema }: Tx): Promise<void> {
  await schema
    .createTable('console_people')
    .addColumn('person_id', 'text', (c) => c.primaryKey())
    .addColumn('issuer', 'text', (c) => c.notNull())
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('name', 'text')
    .addColumn('email', 'text')
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('signed_in_at', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('console_people_subject', ['issuer', 'subject'])
    .execute();
}

async function consoleSessions(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('console_sessions')
    .addColumn('session_hash', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text')
    .addColumn('key_hash', 'text')
    .addColumn('person_id', 'text')
    .addColumn('id_token', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('used_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'console_sessions', ['expires_at']);
  await index(tx, 'console_sessions', ['person_id']);
}
