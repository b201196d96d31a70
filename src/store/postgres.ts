import { PostgresDialect, type CompiledQuery, type DatabaseConnection, type Dialect } from 'kysely';
import type { Pool } from 'pg';
import { postgresFailure } from './unavailable.ts';

/** Returns Kysely's PostgreSQL dialect with support for texts that contain U+0000. */
export function postgresDialect(pool: Pool): Dialect {
  const dialect = new PostgresDialect({ pool });
  const wrapped = new WeakSet<DatabaseConnection>();
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver() {
      const driver = dialect.createDriver();
      const acquire = driver.acquireConnection.bind(driver);
      driver.acquireConnection = async (options) => {
        const connection = await acquire(options).catch((error: unknown) => {
          throw postgresFailure(error);
        });
        if (!wrapped.has(connection)) {
          const execute = connection.executeQuery.bind(connection);
          connection.executeQuery = async (query) => {
            try {
              return await execute(storable(query));
            } catch (error) {
              throw postgresFailure(error);
            }
          };
          wrapped.add(connection);
        }
        return connection;
      };
      return driver;
    },
  };
}

/**
 * Replaces U+0000 in texts, which PostgreSQL refuses and SQLite takes: it occurs in ids of clients and names of third
 * parties. The replacement character stands for it, as it does for lone surrogates.
 */
function storable<R>(query: CompiledQuery<R>): CompiledQuery<R> {
  if (!query.parameters.some(hasNul)) return query;
  const parameters = query.parameters.map((value) =>
    typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value,
  );
  return { ...query, parameters };
}

function hasNul(value: unknown): boolean {
  return typeof value === 'string' && value.includes('\0');
}
