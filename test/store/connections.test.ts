import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore, type Store } from '../../src/store/open.ts';
import { freshDatabase } from '../support/stores.ts';

/* Connections to PostgreSQL that end by themselves. What nobody hears of ends the process, here this file. */

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
/** What a restart of the server, or its operator, does. */
const terminate = (pid: number) => sql`select pg_terminate_backend(${pid})`.execute(store.db);

test('a connection that ends under a statement refuses it, and the next ones run on another', async () => {
  const begun = Promise.withResolvers<number>();
  const work = store.db.connection().execute(async (db) => {
    begun.resolve(await ownPid(db));
    await sql`select pg_sleep(30)`.execute(db);
  });
  const pid = await begun.promise;
  await Promise.all([terminate(pid), expect(work).rejects.toThrow(/terminat/)]);
  // More than the pool has room for.
  for (let n = 0; n < 12; n++) expect(await ownPid(store.db)).not.toBe(pid);
});

test('a connection that ends between statements of a transaction refuses those that follow', async () => {
  const work = store.db.transaction().execute(async (tx) => {
    await terminate(await ownPid(tx));
    for (;;) {
      await sleep(10);
      await sql`select 1`.execute(tx);
    }
  });
  await expect(work).rejects.toThrow(/connection/i);
  expect(await ownPid(store.db)).toBeGreaterThan(0);
});
