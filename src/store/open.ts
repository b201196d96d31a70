import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Kysely } from 'kysely';
import type { Config } from '../config.ts';
import { makeFolder } from '../lib/folders.ts';
import { shareTransactions } from './group-commit.ts';
import { diskOf, NO_DISK } from './group-sync.ts';
import { postgresDialect } from './postgres.ts';
import type { Db, Tables } from './schema.ts';
import { createSqliteDriver } from './sqlite-driver.ts';
import { sqliteDialect } from './sqlite.ts';
import { transactionsOn } from './transact.ts';
import { BLOCKING_BUSY_TIMEOUT_MS } from './sqlite-driver.ts';

/** An open database. `await using` it, or call close(): nothing else ends its connections. */
export interface Store extends AsyncDisposable {
  readonly kind: 'sqlite' | 'postgres';
  readonly db: Db;
  /** Resolves with the reason when no query can succeed any more, whatever happens. */
  readonly failed: Promise<Error>;
  /** For what may take minutes: migrations. Anything else fails where a PostgreSQL server says nothing for one. */
  unhurried<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Why a database could not be opened, in words for the operator. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/**
 * Opens SQLite (made with its folder when missing) or PostgreSQL. The schema is not touched: see migrate(). `silentMs`: how
 * long a PostgreSQL server may say nothing.
 * @throws StoreError when the file or server cannot be used.
 */
export async function openStore(
  where: Config['database'],
  { silentMs }: { silentMs?: number } = {},
): Promise<Store> {
  return where.kind === 'sqlite' ? openSqlite(where.path) : openPostgres(where.url, silentMs);
}

function openSqlite(path: string): Store {
  let sqlite: Sqlite.Database;
  let disk = NO_DISK;
  try {
    makeFolder(dirname(path));
    sqlite = new Sqlite(path, { timeout: BLOCKING_BUSY_TIMEOUT_MS });
    // What we acknowledged survives a power loss: the driver syncs the write-ahead log, many commits at once. A file system
    // that knows no such log (some networks') leaves it to SQLite.
    const ahead = sqlite.pragma('journal_mode = WAL', { simple: true }) === 'wal';
    sqlite.pragma(`synchronous = ${ahead ? 'NORMAL' : 'FULL'}`);
    if (ahead) disk = diskOf(`${path}-wal`);
    // A checkpoint holds up the commit that it falls to: at 1,000 pages (the default) one in fifty events. It takes 6 ms at
    // 4,000 and 10 to 15 at 16,000, which are as many as the file is kept large for below.
    sqlite.pragma('wal_autocheckpoint = 16000');
    sqlite.pragma('foreign_keys = ON');
    sqlite.pragma('trusted_schema = OFF');
    sqlite.pragma('journal_size_limit = 67108864');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(
      `Cannot open the database ${path}: ${reason}. Check that the folder exists and is writable by this user, ` +
        'or set GATEHOUSE_HOME or DATABASE_URL.',
      { cause: error },
    );
  }
  const failed = Promise.withResolvers<Error>();
  const driver = createSqliteDriver(sqlite, disk, failed.resolve);
  const dialect = sqliteDialect(sqlite, driver);
  const db = new Kysely<Tables>({ dialect });
  shareTransactions(db, transactionsOn(db, dialect, driver));
  return toStore({ kind: 'sqlite', db, failed: failed.promise, unhurried: (work) => work() });
}

async function openPostgres(url: string, silentMs: number | undefined): Promise<Store> {
  const { createConnections } = await import('./postgres-pool.ts');
  const { pool, unhurried } = createConnections(url, silentMs);
  try {
    const client = await pool.connect();
    client.release();
  } catch (error) {
    await pool.end();
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(`Cannot connect to the PostgreSQL server of DATABASE_URL: ${reason}`, {
      cause: error,
    });
  }
  const db = new Kysely<Tables>({ dialect: postgresDialect(pool) });
  // A connection that fails is replaced.
  return toStore({ kind: 'postgres', db, failed: new Promise<Error>(() => {}), unhurried });
}

function toStore(opened: Pick<Store, 'kind' | 'db' | 'failed' | 'unhurried'>): Store {
  const close = (): Promise<void> => opened.db.destroy();
  return { ...opened, close, [Symbol.asyncDispose]: close };
}

/** Whether `error` is a unique constraint that refused a row, on either database. */
export function isUniqueViolation(error: unknown): boolean {
  const code = codeOf(error);
  return code === '23505' || code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY';
}

/** Whether `error` is a row refused because what it belongs to is gone, on either database. */
export function isOrphan(error: unknown): boolean {
  const code = codeOf(error);
  return code === '23503' || code === 'SQLITE_CONSTRAINT_FOREIGNKEY';
}

/** What the database calls an error: an SQLSTATE, or SQLite's name. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
