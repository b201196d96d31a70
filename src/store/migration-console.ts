import type { Tx } from './schema.ts';
import { index } from './migration-helpers.ts';

/**
 * Adds the sessions of the console, each found by the hash of its cookie, and the index that counts credentials by state.
 */
export async function consoleSessions(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('console_sessions')
    .addColumn('session_hash', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('key_hash', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('used_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'console_sessions', ['expires_at']);
  await index(tx, 'credentials', ['environment', 'state', 'created_at', 'credential_id']);
}

/**
 * Adds people who sign in by OpenID Connect. The sessions are made again, because SQLite drops no NOT NULL, so
 * everyone signs in once more.
 */
export async function consolePeople(tx: Tx): Promise<void> {
  await tx.schema
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
  await tx.schema.dropTable('console_sessions').execute();
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

/** Adds the index that counts users. The count reads it alone, and not each user. */
export async function countedUsers(tx: Tx): Promise<void> {
  await index(tx, 'users', ['environment', 'enabled']);
}

/** Adds the index that counts servers. It begins with `enabled`, so that no list of an environment chooses it. */
export async function countedServers(tx: Tx): Promise<void> {
  await index(tx, 'servers', ['enabled', 'environment']);
}
