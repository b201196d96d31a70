import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../src/store/migrate.ts';
import { openStore, type Store } from '../../src/store/open-database.ts';
import { freshDatabase } from '../support/stores.ts';

let store: Store;
let beside: Sqlite.Database;
let remove: () => Promise<void>;
beforeEach(async () => {
  const fresh = await freshDatabase('sqlite');
  if (fresh.database.kind !== 'sqlite') throw new Error('not a file');
  remove = fresh.remove;
  store = await openStore(fresh.database);
  await migrate(store, 1);
  beside = new Sqlite(fresh.database.path);
});
afterEach(async () => {
  beside.close();
  await store.close();
  await remove();
});

/** Returns the rows that another process sees. */
const names = () =>
  beside
    .prepare<[], { name: string }>('select name from secrets order by name')
    .all()
    .map(({ name }) => name);

const write = (name: string, then: () => void = () => {}) =>
  store.db.transaction().execute(async (tx) => {
    await tx
      .insertInto('secrets')
      .values({ name, sealed: 'x'.repeat(1000), created_at: 1 })
      .execute();
    then();
    return name;
  });

test('concurrent transactions resolve together, and each is then visible to others', async () => {
  const versions = new Set<number>();
  await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      write(`n${n}`).then((name) => {
        expect(names()).toContain(name);
        return versions.add(Number(beside.pragma('data_version', { simple: true })));
      }),
    ),
  );
  expect(names().length).toBe(40);
  // The data version changes with each commit of another connection.
  expect(versions.size).toBeLessThan(10);
});

test('a failing transaction leaves nothing behind and fails alone', async () => {
  const writes = Array.from({ length: 30 }, (_, n) =>
    write(`n${String(n).padStart(2, '0')}`, () => {
      if (n % 3 === 0) throw new Error(`no ${n}`);
    }),
  );
  const settled = await Promise.allSettled(writes);
  const kept = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  expect(kept.length).toBe(20);
  expect(names()).toEqual(kept);
});

test('a read returns no row that other connections do not see yet', async () => {
  const read = async () => {
    const rows = await store.db.selectFrom('secrets').select('name').execute();
    expect(names().length).toBeGreaterThanOrEqual(rows.length);
  };
  const work = Array.from({ length: 60 }, (_, n) => (n % 3 === 2 ? read() : write(`n${n}`)));
  await Promise.all(work);
  expect(names().length).toBe(40);
});

test('on a full disk resolved writes are stored and rejected writes are not', async () => {
  await limitPages(Number(beside.pragma('page_count', { simple: true })) + 8);
  const settled = await Promise.allSettled(Array.from({ length: 60 }, (_, n) => write(`n${n}`)));
  const kept = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  expect(kept.length).toBeGreaterThan(0);
  expect(kept.length).toBeLessThan(60);
  expect(names()).toEqual(kept.toSorted());
  await limitPages(1_000_000);
  await write('later');
  expect(names()).toContain('later');
});

async function limitPages(pages: number): Promise<void> {
  await sql`pragma max_page_count = ${sql.lit(pages)}`.execute(store.db);
}
