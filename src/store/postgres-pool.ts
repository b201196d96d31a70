import pg from 'pg';

const MOST_CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 5000;

/** Connections to a PostgreSQL server. One that ends by itself fails what ran on it, and is replaced at the next statement. */
export function createPool(url: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: MOST_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // bigint: epoch milliseconds and counters fit a double.
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format),
    },
  });
  // Errors that nobody listens to would end us: the pool tells those of idle connections, …
  pool.on('error', () => {});
  pool.on('connect', (client) => {
    // … and those in use tell theirs themselves. What runs on them is refused.
    client.on('error', () => {});
    if (client instanceof pg.Client) leaveWhenTold(client);
  });
  return pool;
}

/** A server that says FATAL closes the connection right after it: by then the pool might have lent it to the next. */
function leaveWhenTold(client: pg.Client): void {
  client.connection.on('errorMessage', ({ severity }: { severity?: string }) => {
    if (severity === 'FATAL') void client.end();
  });
}
