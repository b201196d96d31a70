import { PostgresDialect, type DatabaseConnection, type Dialect } from 'kysely';
import type { Pool } from 'pg';
import { storableValues } from '../lib/storable-text.ts';
import { postgresFailure } from './unavailable.ts';

/** Returns Kysely's PostgreSQL dialect, which stores texts as storableText() returns them. */
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
              const parameters = storableValues(query.parameters);
              return await execute(parameters === query.parameters ? query : { ...query, parameters });
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
