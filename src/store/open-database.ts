import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Kysely } from 'kysely';
import type { Config } from '../config.ts';
import { makeFolder } from '../lib/folders.ts';
import { createGroupCommit, createCommits, type GroupCommit, type Commits } from './group-commit.ts';
import { diskOf, NO_DISK } from './group-sync.ts';
import { faultOf, postgresDialect } from './postgres.ts';
import type { Db, Tables, Tx } from './schema.ts';
import { BLOCKING_BUSY_TIMEOUT_MS, createSqliteDriver, sqliteDialect } from './sqlite-driver.ts';
import { codeOf } from './unavailable.ts';
import { GatehouseError, thrownMessage, type ErrorCode } from '../lib/errors.ts';

/** An open database. `await using` it, or call close(): nothing else ends its connections. */
export interface Store extends AsyncDisposable {
  readonly kind: 'sqlite' | 'postgres';
  readonly db: Db;
  /** Resolves with the reason when no query can succeed any more. */
  readonly failed: Promise<Error>;
  /**
   * Runs work that may take minutes, such as migrations. Other statements fail when a PostgreSQL server is silent for
   * one minute.
   */
  noTimeout<T>(work: () => Promise<T>): Promise<T>;
  /** Groups small writes into few commits, as createGroupCommit() does. */
  groupCommit<T, R = void>(
    write: (tx: Tx, items: T[]) => Promise<R[]>,
    committed?: (tx: Tx) => void,
  ): GroupCommit<T, R>;
  close(): Promise<void>;
}

/** The reason why a database could not be opened, written for the operator. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/**
 * Opens SQLite (creates the file and its folder when missing) or PostgreSQL. The schema is not touched: see migrate().
 * `silentMs`: how long a PostgreSQL server may send nothing.
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
    // Acknowledged writes survive a power loss: the driver syncs the write-ahead log, one sync for many commits. A
    // file system without such a log (some network ones) leaves the sync to SQLite.
    const ahead = sqlite.pragma('journal_mode = WAL', { simple: true }) === 'wal';
    sqlite.pragma(`synchronous = ${ahead ? 'NORMAL' : 'FULL'}`);
    if (ahead) disk = diskOf(`${path}-wal`);
    // A checkpoint delays the commit that triggers it: at 1,000 pages (the default) that is one event in fifty. It
    // takes 6 ms at 4,000 pages and 10 to 15 ms at 16,000. journal_size_limit below keeps the file as large as 16,000
    // pages.
    sqlite.pragma('wal_autocheckpoint = 16000');
    sqlite.pragma('foreign_keys = ON');
    sqlite.pragma('trusted_schema = OFF');
    sqlite.pragma('journal_size_limit = 67108864');
  } catch (error) {
    const reason = thrownMessage(error);
    throw new StoreError(
      `Cannot open the database ${path}: ${reason}. Check that the folder exists and is writable by this user, ` +
        'or set GATEHOUSE_HOME or DATABASE_URL.',
      { cause: error },
    );
  }
  const failed = Promise.withResolvers<Error>();
  const driver = createSqliteDriver(sqlite, disk, failed.resolve);
  const db = new Kysely<Tables>({ dialect: sqliteDialect(sqlite, driver) });
  // All groups share transactions. With one connection, separate transactions would only take turns.
  const commits = createCommits(db);
  return toStore({ kind: 'sqlite', db, failed: failed.promise, noTimeout: (work) => work() }, () => commits);
}

async function openPostgres(url: string, silentMs: number | undefined): Promise<Store> {
  const { openConnections } = await import('./postgres-pool.ts');
  const { pool, noTimeout } = await openConnections(url, silentMs, async (client) => {
    const fault = await faultOf(client);
    if (fault !== undefined) throw new StoreError(fault);
  }).catch((error: unknown) => {
    if (error instanceof StoreError) throw error;
    const reason = thrownMessage(error);
    throw new StoreError(`Cannot connect to the PostgreSQL server of DATABASE_URL: ${reason}`, {
      cause: error,
    });
  });
  const db = new Kysely<Tables>({ dialect: postgresDialect(pool) });
  // The pool replaces a failed connection, so this store never fails for good.
  return toStore({ kind: 'postgres', db, failed: new Promise<Error>(() => {}), noTimeout }, () =>
    createCommits(db),
  );
}

/** `commitsOfGroup` returns the commits that a new group takes part in. */
function toStore(
  opened: Pick<Store, 'kind' | 'db' | 'failed' | 'noTimeout'>,
  commitsOfGroup: () => Commits,
): Store {
  const close = (): Promise<void> => opened.db.destroy();
  return {
    ...opened,
    groupCommit: (write, committed) => createGroupCommit(commitsOfGroup(), write, committed),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Returns whether `error` is a unique constraint that refused a row, on either database. */
export function isUniqueViolation(error: unknown): boolean {
  const code = codeOf(error);
  return code === '23505' || code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY';
}

/** Translates the error of a write whose row exists already. @throws GatehouseError `code` */
export async function orExists<T>(write: Promise<T>, code: ErrorCode, message: string): Promise<T> {
  try {
    return await write;
  } catch (error) {
    throw isUniqueViolation(error) ? new GatehouseError(code, message, { cause: error }) : error;
  }
}

/** Returns whether `error` is a row refused because its parent row is gone, on either database. */
export function isOrphan(error: unknown): boolean {
  const code = codeOf(error);
  return code === '23503' || code === 'SQLITE_CONSTRAINT_FOREIGNKEY';
}
