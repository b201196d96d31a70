import type Sqlite from 'better-sqlite3';
import { SqliteDialect, type Dialect, type Driver } from 'kysely';

/** Kysely's SQLite dialect over a driver of our own. */
export function sqliteDialect(sqlite: Sqlite.Database, driver: Driver): Dialect {
  const dialect = new SqliteDialect({ database: sqlite });
  return {
    // The driver gives out turns itself.
    createAdapter: () =>
      Object.defineProperty(dialect.createAdapter(), 'supportsMultipleConnections', { value: true }),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => driver,
  };
}
