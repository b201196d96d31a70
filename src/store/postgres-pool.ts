import { Socket } from 'node:net';
import pg from 'pg';
import { MINUTE, SECOND } from '../lib/clock.ts';

const MOST_CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 5000;
/** No statement takes this long, except those of migrations. */
const SILENT_AT_MOST_MS = MINUTE;
/** A vanished host is found sooner than by the silence limit while no data is on its way to it. */
const KEEP_ALIVE_AFTER_MS = 10 * SECOND;

/**
 * Connections to a PostgreSQL server. A connection that closes fails its statements, and the pool replaces it at the
 * next statement.
 */
export interface Connections {
  pool: pg.Pool;
  /** Runs `work`. No connection is closed for silence while it runs. */
  noTimeout<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * Opens a pool, and lends its first connection to `first`. `silentMs`: a connection that sends nothing for this long is
 * closed. With `sslmode=prefer` or `allow` the server decides about TLS, as with libpq. The decision holds for the pool.
 * @throws the error of the connection or of `first`, after the pool is closed.
 */
export async function openConnections(
  url: string,
  silentMs: number | undefined,
  first: (client: pg.PoolClient) => Promise<void>,
): Promise<Connections> {
  const [candidate = url, other] = candidatesOf(url);
  const opened = createConnections(candidate, silentMs);
  try {
    const client = await opened.pool.connect();
    try {
      await first(client);
    } finally {
      client.release();
    }
    return opened;
  } catch (error) {
    await opened.pool.end();
    if (other !== undefined && isAboutTls(error)) return openConnections(other, silentMs, first);
    throw error;
  }
}

/** Returns the addresses to try, with and without TLS. The certificate is not checked, as libpq does it for these modes. */
function candidatesOf(url: string): string[] {
  const mode = /[?&]sslmode=(prefer|allow)(?=&|$)/i.exec(url)?.[1]?.toLowerCase();
  if (mode === undefined) return [url];
  const bare = url.replace(/([?&])uselibpqcompat=[^&]*(?=&|$)/gi, '$1');
  const withMode = (other: string) => bare.replace(/([?&]sslmode=)(?:prefer|allow)(?=&|$)/i, `$1${other}`);
  const candidates = [withMode('no-verify'), withMode('disable')];
  return mode === 'prefer' ? candidates : candidates.toReversed();
}

/** Returns whether the server has no TLS, or its rules (pg_hba.conf) require or forbid TLS. */
function isAboutTls(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.message.includes('does not support SSL') || ('code' in error && error.code === '28000');
}

/** Creates a pool. It connects when a caller needs a connection. */
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
  let noTimeout = 0;
  // An error event without a listener would end the process. The pool emits the errors of idle connections, …
  pool.on('error', () => {});
  pool.on('connect', (client) => {
    // … and a connection in use emits its own. Its statements are rejected.
    client.on('error', () => {});
    if (!(client instanceof pg.Client)) return;
    leaveWhenTold(client);
    leaveWhenSilent(client, silentMs, () => noTimeout === 0);
  });
  return {
    pool,
    async noTimeout(work) {
      noTimeout++;
      try {
        return await work();
      } finally {
        noTimeout--;
      }
    },
  };
}

/**
 * Closes a connection at a FATAL message. The server closes it right after that, and by then the pool might have lent
 * it to the next caller.
 */
function leaveWhenTold(client: pg.Client): void {
  client.connection.on('errorMessage', ({ severity }: { severity?: string }) => {
    if (severity === 'FATAL') void client.end();
  });
}

/**
 * Closes a connection that is silent for `silentMs`. A vanished host, or a firewall that dropped the connection, sends
 * no error. Without this limit the statement would wait as long as the process lives. The socket's own timer costs a
 * statement nothing.
 */
function leaveWhenSilent(client: pg.Client, silentMs: number, mayLeave: () => boolean): void {
  const { stream } = client.connection;
  if (!(stream instanceof Socket)) return;
  stream.setTimeout(silentMs);
  stream.on('timeout', () => {
    if (mayLeave()) stream.destroy(new Error(`The database said nothing for ${silentMs / SECOND} s.`));
  });
}
