import { randomUUID } from 'node:crypto';
import { copyFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createCheckpoints } from '../../src/store/checkpoint.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore, type Store } from '../../src/store/open-database.ts';
import { freshDatabase } from '../support/stores.ts';
import { until } from '../support/until.ts';

let path: string;
let remove: () => Promise<void>;
let store: Store;
beforeEach(async () => {
  const { database, remove: removed } = await freshDatabase('sqlite');
  if (database.kind !== 'sqlite') throw new Error('not a file');
  ({ path } = database);
  remove = removed;
  store = await openStore(database);
  await migrate(store, 1);
});
afterEach(async () => {
  await store.close();
  await remove();
});

const write = (name: string) =>
  store.db.insertInto('secrets').values({ name, sealed: 'x', created_at: 1 }).execute();

/** Returns the names in a copy of the database file alone, as a person makes it who forgets the log; none in a torn one. */
function namesInCopy(): string[] {
  const copy = join(dirname(path), `${randomUUID()}.db`);
  copyFileSync(path, copy);
  const sqlite = new Sqlite(copy);
  try {
    const known = sqlite.prepare("select 1 from sqlite_master where name = 'secrets'").get();
    const rows = known ? sqlite.prepare<[], string>('select name from secrets').pluck().all() : [];
    return rows.toSorted();
  } catch {
    return [];
  } finally {
    sqlite.close();
  }
}

test('the file alone holds all rows shortly after the last write', async () => {
  for (const name of ['a', 'b', 'c']) await write(name);
  await until(() => namesInCopy().length === 3);
  await write('d');
  await until(() => namesInCopy().length === 4);
  expect(namesInCopy()).toEqual(['a', 'b', 'c', 'd']);
});

test('a reader of another process delays the copy, and no write', async () => {
  const sqlite = new Sqlite(path, { timeout: 0 });
  let asked = 0;
  const checkpoints = createCheckpoints(sqlite, () => ++asked > 0, { quietMs: 1, emptyMs: 60_000 });
  const reader = new Sqlite(path);
  reader.exec('begin');
  expect(reader.prepare('select count(*) from secrets').pluck().get()).toBe(0);
  for (const name of ['a', 'b']) {
    sqlite.prepare('insert into secrets values (?, ?, 1)').run(name, 'x');
    checkpoints.wrote();
    const before = asked;
    await until(() => asked > before + 2);
  }
  reader.exec('commit');
  await until(() => namesInCopy().length === 2);
  reader.close();
  checkpoints.close();
  sqlite.close();
});

test('a store that closes while another process has it open leaves the file whole', async () => {
  const other = new Sqlite(path);
  other.prepare('select count(*) from secrets').get();
  await write('a');
  await store.close();
  expect(namesInCopy()).toEqual(['a']);
  other.close();
});

test('the log is emptied when no write came for longer, and takes writes again', async () => {
  const sqlite = new Sqlite(path, { timeout: 20 });
  const checkpoints = createCheckpoints(sqlite, () => true, { quietMs: 1, emptyMs: 2 });
  for (const name of ['a', 'b']) {
    sqlite.prepare('insert into secrets values (?, ?, 1)').run(name, 'x');
    checkpoints.wrote();
    await until(() => statSync(`${path}-wal`).size === 0);
    expect(namesInCopy()).toContain(name);
  }
  expect(sqlite.pragma('busy_timeout', { simple: true })).toBe(20);
  checkpoints.close();
  sqlite.close();
});

test('no checkpoint runs while a caller uses the connection', async () => {
  const sqlite = new Sqlite(path);
  let asked = 0;
  const checkpoints = createCheckpoints(sqlite, () => ++asked > 3, { quietMs: 1, emptyMs: 60_000 });
  sqlite.exec("insert into secrets values ('a', 'x', 1)");
  checkpoints.wrote();
  await until(() => namesInCopy().includes('a'));
  expect(asked).toBe(4);
  checkpoints.close();
  sqlite.close();
});
