import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Kysely, PostgresDialect, SqliteDialect, type SqliteDatabase } from 'kysely';
import pg from 'pg';
import type { Config } from '../config.ts';
import type { Db, Tables } from './schema.ts';

/** An open database. `await using` it, or call close(): nothing else ends its connections. */
export interface Store extends AsyncDisposable {
  readonly kind: 'sqlite' | 'postgres';
  readonly db: Db;
  close(): Promise<void>;
}

/** Why a database could not be opened, in words for the operator. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** More statements than the code has; the cap only bounds what dynamic lists (`in (…)`) can add. */
const MAX_KEPT_STATEMENTS = 500;
const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens SQLite (made with its folder when missing) or PostgreSQL. The schema is not touched: see migrate().
 * @throws StoreError when the file or server cannot be used.
 */
export async function openStore(where: Config['database']): Promise<Store> {
  return where.kind === 'sqlite' ? openSqlite(where.path) : openPostgres(where.url);
}

function openSqlite(path: string): Store {
  let sqlite: Sqlite.Database;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    sqlite = new Sqlite(path, { timeout: BUSY_TIMEOUT_MS });
    sqlite.pragma('journal_mode = WAL');
    // FULL: what we acknowledged survives a power loss. Hot writes are batched, so its fsync is shared.
    sqlite.pragma('synchronous = FULL');
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
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: keepStatements(sqlite) }) });
  return toStore('sqlite', db);
}

/**
 * Kysely prepares at every query (measured: 66-75 µs against 14 µs with kept statements), so the database it is
 * given keeps them by their text. Transactions begin IMMEDIATE: all of ours write, and a deferred one that turns
 * into a writer fails with SQLITE_BUSY at once instead of waiting its turn.
 */
function keepStatements(sqlite: Sqlite.Database): SqliteDatabase {
  const kept = new Map<string, Sqlite.Statement>();
  return {
    prepare(text) {
      let statement = kept.get(text);
      if (!statement) {
        statement = sqlite.prepare(text === 'begin' ? 'begin immediate' : text);
        if (kept.size >= MAX_KEPT_STATEMENTS) kept.delete(kept.keys().next().value ?? '');
        kept.set(text, statement);
      }
      return statement;
    },
    close() {
      kept.clear();
      sqlite.close();
    },
  };
}

async function openPostgres(url: string): Promise<Store> {
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    connectionTimeoutMillis: BUSY_TIMEOUT_MS,
    // bigint: epoch milliseconds and counters fit a double.
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format),
    },
  });
  // An idle connection that the server ends is replaced at the next query; without a listener it would end us.
  pool.on('error', () => {});
  try {
    const client = await pool.connect();
    client.release();
  } catch (error) {
    await pool.end();
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(`Cannot connect to the PostgreSQL server of DATABASE_URL: ${reason}`, { cause: error });
  }
  return toStore('postgres', new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }));
}

function toStore(kind: Store['kind'], db: Db): Store {
  const close = (): Promise<void> => db.destroy();
  return { kind, db, close, [Symbol.asyncDispose]: close };
}

/** Whether `error` is a unique constraint that refused a row, on either database. */
export function isUniqueViolation(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === '23505' || code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY';
}
