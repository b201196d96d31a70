import { sql } from 'kysely';
import { MIGRATIONS, type Migration } from './migrations/migrations.ts';
import type { Store } from './open-database.ts';
import { isPostgres } from './prepared.ts';
import type { Db, DbOrTx, Tx } from './schema.ts';
import { thrownMessage } from '../lib/errors.ts';
import { codeOf } from './unavailable.ts';

/** Key of the PostgreSQL advisory lock. Any number works that no other program uses. */
const MIGRATION_LOCK = 0x67617465;

/** A database that this release cannot serve: a newer release migrated it, or it is older than the first release. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
}

/** The refusal of a store that was made before the first release. Its schema had other migrations. */
export const UNRELEASED =
  'The database is of a Gatehouse before 0.2.0, the first release, and cannot be migrated: move it and the folder ' +
  'GATEHOUSE_HOME away, and start with new ones.';

/**
 * Brings the schema to this release's version and returns the names of the migrations that ran. They run in one
 * transaction under a lock. When two processes start at once, one migrates and the other finds the work done. A crash
 * in the middle leaves the old version. The commit syncs a SQLite file also where nothing was to do, which puts
 * on the disk what an ended process had committed but not yet synced.
 * @throws SchemaError when a newer release has migrated this database, when it is older than the first release, or when
 * the role may not create tables.
 */
export async function migrate(store: Store, now: number): Promise<string[]> {
  return withRights(store.db, () =>
    store.noTimeout(() => store.db.transaction().execute((tx) => migrateWithin(tx, { now }))),
  );
}

/** SQLSTATE codes of a missing right, and of a search path without a usable schema. */
const DENIED = new Set(['42501', '3F000']);

/**
 * Runs work that needs rights to the tables.
 * @throws SchemaError where the role of PostgreSQL lacks a right.
 */
export async function withRights<T>(db: Db, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!DENIED.has(codeOf(error))) throw error;
    const { rows } = await sql<{ role: string; schema: string | null }>`
      select current_user as role, current_schema() as schema`.execute(db);
    const { role = 'the role', schema } = rows[0] ?? {};
    throw new SchemaError(
      `The role ${role} of DATABASE_URL lacks rights: ${thrownMessage(error)}. Let the owner of the database run: ` +
        `grant all on schema ${schema ?? 'public'} to ${role}, or use a role that owns the tables.`,
      { cause: error },
    );
  }
}

/** Returns whether the role may create tables. */
export async function mayMigrate(db: Db): Promise<boolean> {
  if (!isPostgres(db)) return true;
  const { rows } = await sql<{ may: boolean | null }>`
    select has_schema_privilege(current_schema(), 'create') as may`.execute(db);
  return rows[0]?.may === true;
}

interface MigrateOptions {
  now: number;
  /** The schema version to reach; the newest by default. */
  upTo?: number;
  /** The migrations of a release; those of this one by default. */
  migrations?: readonly Migration[];
}

/**
 * Does the work of migrate() within a transaction, up to a schema version.
 * @throws SchemaError when a newer release has migrated this database, or when it is older than the first release.
 */
export async function migrateWithin(
  tx: Tx,
  { now, migrations = MIGRATIONS, upTo = migrations.length }: MigrateOptions,
): Promise<string[]> {
  if (isPostgres(tx)) await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(tx);
  // PostgreSQL checks the right to create a table before it looks whether the table exists.
  if (!(await isMigrated(tx))) await createVersions(tx);
  if (await isUnreleased(tx)) throw new SchemaError(UNRELEASED);
  const version = await schemaVersion(tx);
  if (version > migrations.length) {
    throw new SchemaError(
      `The database is at schema version ${version}, this release knows ${migrations.length}: ` +
        'it was migrated by a newer Gatehouse. Start that release, or restore a backup made before it.',
    );
  }
  const pending = migrations.slice(version, upTo);
  for (const [position, migration] of pending.entries()) {
    await migration.up(tx);
    await tx
      .insertInto('schema_versions')
      .values({ version: version + position + 1, name: migration.name, applied_at: now })
      .execute();
  }
  return pending.map((migration) => migration.name);
}

async function createVersions(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('schema_versions')
    .addColumn('version', 'integer', (c) => c.primaryKey())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('applied_at', 'bigint', (c) => c.notNull())
    .execute();
}

/** Returns whether a database has a schema of Gatehouse. */
export async function isMigrated(db: DbOrTx): Promise<boolean> {
  const { rows } = await (
    isPostgres(db)
      ? sql`select 1 where to_regclass('schema_versions') is not null`
      : sql`select 1 from sqlite_master where name = 'schema_versions'`
  ).execute(db);
  return rows.length > 0;
}

/** Returns whether a store was made before the first release: its migration 1 has another name. */
export async function isUnreleased(db: DbOrTx): Promise<boolean> {
  const first = await db
    .selectFrom('schema_versions')
    .select('name')
    .where('version', '=', 1)
    .executeTakeFirst();
  return isUnreleasedName(first?.name);
}

/** Returns whether a name of migration 1 is of a store made before the first release; undefined for an empty schema. */
export function isUnreleasedName(name: string | undefined): boolean {
  return name !== undefined && name !== MIGRATIONS[0].name;
}

/** Returns the version of a schema whose table of versions exists; 0 before the first migration. */
export async function schemaVersion(db: DbOrTx): Promise<number> {
  const { version } = await db
    .selectFrom('schema_versions')
    .select((e) => e.fn.coalesce(e.fn.max('version'), sql<number>`0`).as('version'))
    .executeTakeFirstOrThrow();
  return version;
}
