import { Socket } from 'node:net';
import pg from 'pg';
import { MINUTE, SECOND } from '../lib/clock.ts';

const MOST_CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 5000;
/** No statement of ours takes so long, but those of migrations. */
const SILENT_AT_MOST_MS = MINUTE;
/** A host that is gone is found out sooner where nothing of ours is on its way to it. */
const KEEP_ALIVE_AFTER_MS = 10 * SECOND;

/** Connections to a PostgreSQL server. One that ends by itself fails what ran on it, and is replaced at the next statement. */
export interface Connections {
  pool: pg.Pool;
  /** While `work` runs, no connection is given up for saying nothing. */
  unhurried<T>(work: () => Promise<T>): Promise<T>;
}

/** `silentMs`: a connection that says nothing for so long is given up. */
export function createConnections(url: string, silentMs = SILENT_AT_MOST_MS): Connections {
  const pool = new pg.Pool({
    connectionString: url,
    max: MOST_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    // bigint: epoch milliseconds and counters fit a double.
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format),
    },
  });
  let unhurried = 0;
  // Errors that nobody listens to would end us: the pool tells those of idle connections, …
  pool.on('error', () => {});
  pool.on('connect', (client) => {
    // … and those in use tell theirs themselves. What runs on them is refused.
    client.on('error', () => {});
    if (!(client instanceof pg.Client)) return;
    leaveWhenTold(client);
    leaveWhenSilent(client, silentMs, () => unhurried === 0);
  });
  return {
    pool,
    async unhurried(work) {
      unhurried++;
      try {
        return await work();
      } finally {
        unhurried--;
      }
    },
  };
}

/** A server that says FATAL closes the connection right after it: by then the pool might have lent it to the next. */
function leaveWhenTold(client: pg.Client): void {
  client.connection.on('errorMessage', ({ severity }: { severity?: string }) => {
    if (severity === 'FATAL') void client.end();
  });
}

/**
 * A host that vanished, or a firewall that forgot the connection, tells nobody: without an end the statement would be waited
 * for as long as the process lives. The socket's own timer costs a statement nothing.
 */
function leaveWhenSilent(client: pg.Client, silentMs: number, mayLeave: () => boolean): void {
  const { stream } = client.connection;
  if (!(stream instanceof Socket)) return;
  stream.setTimeout(silentMs);
  stream.on('timeout', () => {
    if (mayLeave()) stream.destroy(new Error(`The database said nothing for ${silentMs / SECOND} s.`));
  });
}
