import type Sqlite from 'better-sqlite3';
import { SqliteDialect, type Dialect } from 'kysely';
import type { Disk } from './group-sync.ts';
import { createSqliteDriver } from './sqlite-driver.ts';

/** Kysely's SQLite dialect over a driver of our own, which syncs `disk` after what it committed. */
export function sqliteDialect(sqlite: Sqlite.Database, disk: Disk): Dialect {
  const dialect = new SqliteDialect({ database: sqlite });
  return {
    // The driver gives out turns itself.
    createAdapter: () =>
      Object.defineProperty(dialect.createAdapter(), 'supportsMultipleConnections', { value: true }),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => createSqliteDriver(sqlite, disk),
  };
}
