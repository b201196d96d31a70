import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Config } from '../../src/config.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore, type Store } from '../../src/store/open-database.ts';
import { createConnections } from '../../src/store/postgres-pool.ts';
import { freshDatabase } from '../support/stores.ts';

/*
 * Connections to PostgreSQL that close or go silent. An error event without a listener would end the process, here
 * this test file.
 */

let fresh: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;
beforeEach(async () => {
  fresh = await freshDatabase('postgres', { empty: true });
  store = await openStore(fresh.database);
});
afterEach(async () => {
  await store.close();
  await fresh.remove();
});

const ownPid = async (db: Store['db']): Promise<number> => {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
  return rows[0]?.pid ?? 0;
};
/** Ends a connection, as a restart of the server or its operator does. */
const terminate = (pid: number) => sql`select pg_terminate_backend(${pid})`.execute(store.db);

test('a connection that ends rejects its statement and is replaced', async () => {
  const begun = Promise.withResolvers<number>();
  const work = store.db.connection().execute(async (db) => {
    begun.resolve(await ownPid(db));
    await sql`select pg_sleep(30)`.execute(db);
  });
  const pid = await begun.promise;
  await Promise.all([terminate(pid), expect(work).rejects.toThrow(/terminat/)]);
  // More statements than the pool has connections.
  for (let n = 0; n < 12; n++) expect(await ownPid(store.db)).not.toBe(pid);
});

test('a connection that ends in a transaction rejects the next statements', async () => {
  const work = store.db.transaction().execute(async (tx) => {
    await terminate(await ownPid(tx));
    for (;;) {
      await sleep(10);
      await sql`select 1`.execute(tx);
    }
  });
  // The driver's words depend on whether it has already noticed the end.
  await expect(work).rejects.toThrow(/connection|client was closed/i);
  expect(await ownPid(store.db)).toBeGreaterThan(0);
});

test('a connection that goes silent is closed, and its statements are rejected', async () => {
  await using proxy = await startProxy(fresh.database);
  await using silent = await openStore(proxy.database, { silentMs: 3000 });
  const begun = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const transaction = silent.db.transaction().execute(async (tx) => {
    await sql`select 1`.execute(tx);
    begun.resolve();
    await gone.promise;
    await sql`select 1`.execute(tx);
  });
  await begun.promise;
  const waiting = [transaction, ...[1, 2, 3].map(() => sql`select pg_sleep(30)`.execute(silent.db))];
  const refused = waiting.map((one) => one.then(String, (error: Error) => error.message));
  const sleeping = async () => {
    const { rows } = await sql<{ count: number }>`select count(*) as count from pg_stat_activity
      where state = 'active' and query = 'select pg_sleep(30)'`.execute(store.db);
    return rows[0]?.count;
  };
  await expect.poll(sleeping).toBe(3);
  proxy.fallSilent();
  gone.resolve();
  expect(await Promise.all(refused)).toEqual([
    // The transaction could not be rolled back either.
    'Client has encountered a connection error and is not queryable',
    ...waiting.slice(1).map(() => 'The database said nothing for 3 s.'),
  ]);
  for (let n = 0; n < 12; n++) expect(await ownPid(silent.db)).toBeGreaterThan(0);
});

test('a migration may take longer', async () => {
  await migrate(store, 1);
  await using other = await openStore(fresh.database, { silentMs: 1000 });
  const [waited] = await Promise.all([
    migrate(other, 2),
    store.db.transaction().execute(async (tx) => {
      await sql`lock table schema_versions in access exclusive mode`.execute(tx);
      await sql`select pg_sleep(2)`.execute(tx);
    }),
  ]);
  expect(waited).toEqual([]);
});

test('a connection that was allowed to be silent is closed when it goes silent later', async () => {
  const url = fresh.database.kind === 'postgres' ? fresh.database.url : '';
  const { pool, noTimeout } = createConnections(url, 1000);
  const client = await pool.connect();
  await noTimeout(() => client.query('select pg_sleep(1.5)'));
  await expect(client.query('select pg_sleep(10)')).rejects.toThrow('said nothing for 1 s');
  client.release(true);
  await pool.end();
});

/**
 * Starts a proxy that stops forwarding to its clients at a given time, like a vanished host or a firewall that dropped
 * the connection.
 */
async function startProxy(database: Config['database']) {
  const url = new URL(database.kind === 'postgres' ? database.url : '');
  const real = { host: url.hostname, port: Number(url.port) };
  let pairs: [Socket, Socket][] = [];
  const opened = new Set<Socket>();
  const server = createServer((from) => {
    const to = connect(real);
    from.pipe(to).pipe(from);
    for (const socket of [from, to]) opened.add(socket.on('error', () => {}));
    pairs.push([from, to]);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  url.port = String(address.port);
  return {
    database: { kind: 'postgres' as const, url: url.href },
    fallSilent() {
      for (const [from, to] of pairs) {
        to.unpipe(from);
        from.unpipe(to);
        // The proxy still acknowledges the data that it gets.
        from.resume();
        to.destroy();
      }
      pairs = [];
    },
    async [Symbol.asyncDispose]() {
      for (const socket of opened) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}
