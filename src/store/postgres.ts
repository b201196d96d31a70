import { PostgresDialect, type DatabaseConnection, type Dialect } from 'kysely';
import type { ClientBase, Pool } from 'pg';
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

/** Facts of a PostgreSQL database that decide whether a store can live in it. */
interface Facts {
  encoding: string;
  read_only: string;
  standby: boolean;
}

/** Returns why a database cannot hold a store, with the remedy; undefined for a usable one. */
export async function faultOf(client: ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<Facts>(
    `select current_setting('server_encoding') as encoding, current_setting('transaction_read_only') as read_only,
      pg_is_in_recovery() as standby`,
  );
  const [facts] = rows;
  if (!facts) return undefined;
  if (facts.encoding !== 'UTF8')
    return (
      `The database of DATABASE_URL has the encoding ${facts.encoding}, which cannot store all texts. Create one with: ` +
      "create database gatehouse encoding 'UTF8' template template0, and name it in DATABASE_URL."
    );
  if (facts.standby)
    return 'The PostgreSQL server of DATABASE_URL is a standby, which takes no writes. Name the primary server in DATABASE_URL.';
  if (facts.read_only === 'on')
    return (
      'The PostgreSQL server of DATABASE_URL takes no writes, because default_transaction_read_only is on. ' +
      'Set it to off for the role, the database or the server.'
    );
  return undefined;
}
