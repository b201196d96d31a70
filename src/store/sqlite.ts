import type Sqlite from 'better-sqlite3';
import { SqliteDialect, type Dialect, type Driver } from 'kysely';

/** Returns Kysely's SQLite dialect over our own driver. */
export function sqliteDialect(sqlite: Sqlite.Database, driver: Driver): Dialect {
  const dialect = new SqliteDialect({ database: sqlite });
  return {
    // The driver itself hands out the turns.
    createAdapter: () =>
      Object.defineProperty(dialect.createAdapter(), 'supportsMultipleConnections', { value: true }),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => driver,
  };
}
