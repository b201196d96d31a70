import { existsSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import type pg from 'pg';
import type { Config } from '../config.ts';
import { thrownMessage } from '../lib/errors.ts';
import { isUnreleasedName, SchemaError, UNRELEASED } from './migrate.ts';
import { MIGRATIONS } from './migrations/migrations.ts';
import { StoreError } from './open-database.ts';

/** Bounds the rows of a table that are in memory at a time; a row of `file_chunks` takes 256 KiB. */
const ROWS_AT_A_TIME = 64;
const BUSY_TIMEOUT_MS = 5000;

/** One consistent state of a store, read while other processes write. `await using` it. */
export interface Snapshot extends AsyncDisposable {
  readonly kind: 'sqlite' | 'postgres';
  /** Schema version of the store. */
  readonly version: number;
  /** Returns the rows of a table as arrays, in the order of the columns. */
  rows(table: string, columns: readonly string[]): AsyncIterable<unknown[]>;
}

/**
 * Opens a snapshot on a connection of its own.
 * @throws StoreError when there is no store, SchemaError when a newer release migrated it or it is older than the first.
 */
export async function openSnapshot(where: Config['database']): Promise<Snapshot> {
  const snapshot = where.kind === 'sqlite' ? openSqlite(where.path) : await openPostgres(where.url);
  try {
    await refuseOtherSchema(snapshot);
    return snapshot;
  } catch (error) {
    await snapshot[Symbol.asyncDispose]();
    throw error;
  }
}

async function refuseOtherSchema(snapshot: Snapshot): Promise<void> {
  for await (const [version, name] of snapshot.rows('schema_versions', ['version', 'name']))
    if (version === 1 && isUnreleasedName(String(name))) throw new SchemaError(UNRELEASED);
  if (snapshot.version <= MIGRATIONS.length) return;
  throw new SchemaError(
    `The database is at schema version ${snapshot.version}, this release knows ${MIGRATIONS.length}: ` +
      'it was migrated by a newer Gatehouse. Use that release.',
  );
}

const VERSION = 'select max(version) from schema_versions';

function openSqlite(path: string): Snapshot {
  if (!existsSync(path)) throw noStore(path);
  let sqlite: Sqlite.Database | undefined;
  try {
    sqlite = new Sqlite(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    const open = sqlite;
    open.pragma('query_only = ON');
    // The first read of a deferred transaction fixes the state that all later reads see.
    open.exec('begin');
    if (!open.prepare("select 1 from sqlite_master where name = 'schema_versions'").get())
      throw noStore(path);
    const version = Number(open.prepare(VERSION).pluck().get());
    return {
      kind: 'sqlite',
      version,
      async *rows(table, columns) {
        const all = open.prepare<[], unknown[]>(selectOf(table, columns)).raw();
        yield* all.iterate();
      },
      async [Symbol.asyncDispose]() {
        open.close();
      },
    };
  } catch (error) {
    sqlite?.close();
    if (error instanceof StoreError) throw error;
    throw new StoreError(`Cannot read the database ${path}: ${thrownMessage(error)}`, { cause: error });
  }
}

async function openPostgres(url: string): Promise<Snapshot> {
  const { openConnections } = await import('./postgres-pool.ts');
  const closed = Promise.withResolvers<void>();
  let pool: pg.Pool | undefined;
  let client: pg.PoolClient | undefined;
  const close = async (): Promise<void> => {
    closed.resolve();
    client?.release(true);
    await pool?.end();
  };
  try {
    const connections = await openConnections(url, undefined, async () => {});
    pool = connections.pool;
    client = await pool.connect();
    const open = client;
    // The connection is silent while the reader of the rows writes to a slow disk.
    void connections.noTimeout(() => closed.promise);
    await open.query('begin isolation level repeatable read read only');
    const found = await open.query<{ versions: string | null }>(
      "select to_regclass('schema_versions')::text as versions",
    );
    if (found.rows[0]?.versions === null) throw noStore('the database of DATABASE_URL');
    const version = await open.query<[number]>({ text: VERSION, rowMode: 'array' });
    return {
      kind: 'postgres',
      version: Number(version.rows[0]?.[0]),
      rows: (table, columns) => cursor(open, selectOf(table, columns)),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    if (error instanceof StoreError) throw error;
    throw new StoreError(`Cannot read the PostgreSQL server of DATABASE_URL: ${thrownMessage(error)}`, {
      cause: error,
    });
  }
}

async function* cursor(client: pg.PoolClient, select: string): AsyncIterable<unknown[]> {
  await client.query(`declare all_rows no scroll cursor for ${select}`);
  for (;;) {
    const { rows } = await client.query<unknown[]>({
      text: `fetch ${ROWS_AT_A_TIME} from all_rows`,
      rowMode: 'array',
    });
    yield* rows;
    if (rows.length < ROWS_AT_A_TIME) break;
  }
  await client.query('close all_rows');
}

function selectOf(table: string, columns: readonly string[]): string {
  return `select ${columns.map((column) => `"${column}"`).join(', ')} from "${table}"`;
}

function noStore(where: string): StoreError {
  return new StoreError(
    `There is no Gatehouse at ${where}: set GATEHOUSE_HOME or DATABASE_URL to where it is.`,
  );
}
