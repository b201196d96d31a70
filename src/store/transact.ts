import {
  SingleConnectionProvider,
  Transaction,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type KyselyProps,
} from 'kysely';
import type { Db, Tables } from './schema.ts';

/**
 * Runs `use` in a transaction. It commits when `use` resolves, and returns its result; it rolls back when `use`
 * throws.
 */
export type Transact = <T>(use: (tx: Transaction<Tables>) => Promise<T>) => Promise<T>;

/** A transaction that knows its connection. */
class BoundTransaction extends Transaction<Tables> {
  readonly boundTo: DatabaseConnection;

  constructor(props: KyselyProps, boundTo: DatabaseConnection) {
    super(props);
    this.boundTo = boundTo;
  }
}

const connections = new WeakMap<Transaction<Tables>, DatabaseConnection>();

/** Returns the connection of a transaction. */
export function connectionOf(tx: Transaction<Tables>): DatabaseConnection | Promise<DatabaseConnection> {
  if (tx instanceof BoundTransaction) return tx.boundTo;
  return connections.get(tx) ?? findConnection(tx);
}

async function findConnection(tx: Transaction<Tables>): Promise<DatabaseConnection> {
  const connection = await tx.getExecutor().provideConnection((one) => Promise.resolve(one));
  connections.set(tx, connection);
  return connection;
}

/**
 * Returns a `db.transaction().execute()` straight on the driver. Measured at 50 events/s: a transaction begins in 24
 * µs instead of 62.
 */
export function transactionsOn(db: Db, dialect: Dialect, driver: Driver): Transact {
  const executor = db.getExecutor();
  // A driver has few connections and uses them again.
  const bound = new WeakMap<DatabaseConnection, KyselyProps>();
  const bind = (connection: DatabaseConnection): KyselyProps => {
    const own = executor.withConnectionProvider(new SingleConnectionProvider(connection));
    const props: KyselyProps = { config: { dialect }, dialect, driver, executor: own };
    bound.set(connection, props);
    return props;
  };
  const make = (connection: DatabaseConnection): BoundTransaction =>
    new BoundTransaction(bound.get(connection) ?? bind(connection), connection);
  return async (use) => {
    const connection = await driver.acquireConnection();
    try {
      await driver.beginTransaction(connection, {});
      try {
        const result = await use(make(connection));
        await driver.commitTransaction(connection);
        return result;
      } catch (error) {
        await driver.rollbackTransaction(connection);
        throw error;
      }
    } finally {
      await driver.releaseConnection(connection);
    }
  };
}
