import { randomUUID } from 'node:crypto';
import Sqlite from 'better-sqlite3';
import { Kysely } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Disk } from '../../src/store/group-sync.ts';
import type { Tables } from '../../src/store/schema.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-database.ts';
import { createSqliteDriver, sqliteDialect } from '../../src/store/sqlite-driver.ts';
import { freshDatabase } from '../support/stores.ts';
import { until } from '../support/until.ts';

/** A disk whose syncs end when the test ends them. */
class HeldDisk implements Disk {
  working: ((error: Error | null) => void) | undefined;
  begun = 0;
  sync(done: (error: Error | null) => void): void {
    this.begun++;
    this.working = done;
  }
  close(): void {}
  async finish(error: Error | null = null): Promise<void> {
    await until(() => this.working !== undefined);
    const { working } = this;
    this.working = undefined;
    working?.(error);
  }
}

let path: string;
let remove: () => Promise<void>;
let beside: Sqlite.Database;
beforeEach(async () => {
  const fresh = await freshDatabase('sqlite');
  if (fresh.database.kind !== 'sqlite') throw new Error('not a file');
  ({ remove } = fresh);
  ({ path } = fresh.database);
  await using store = await openStore(fresh.database);
  await migrate(store, 1);
  beside = new Sqlite(path);
});
afterEach(async () => {
  beside.close();
  await remove();
});

async function openHeld(): Promise<{ db: Kysely<Tables>; disk: HeldDisk }> {
  const disk = new HeldDisk();
  const db = openOn(disk);
  const first = write(db, 'first');
  await disk.finish();
  await first;
  disk.begun = 0;
  return { db, disk };
}

function openOn(disk: Disk): Kysely<Tables> {
  const sqlite = new Sqlite(path);
  return new Kysely<Tables>({ dialect: sqliteDialect(sqlite, createSqliteDriver(sqlite, disk)) });
}

const write = (db: Kysely<Tables>, name: string) =>
  db.transaction().execute(async (tx) => {
    await tx.insertInto('secrets').values({ name, sealed: 'x', created_at: 1 }).execute();
    return name;
  });
const read = (db: Kysely<Tables>) => db.selectFrom('secrets').select('name').orderBy('name').execute();

/** Records the names of ended work, in the order of its ending. */
function note(): { ended: string[]; of: (name: string, work: Promise<unknown>) => void } {
  const ended: string[] = [];
  return {
    ended,
    of: (name, work) =>
      void work.then(
        () => ended.push(name),
        (error: unknown) => ended.push(`${name}: ${String(error)}`),
      ),
  };
}
const seenBeside = () => beside.prepare('select count(*) from secrets').pluck().get();

test('a commit resolves after its sync, and later commits wait for the next sync', async () => {
  const { db, disk } = await openHeld();
  const { ended, of } = note();
  for (const name of ['a', 'b', 'c']) of(name, write(db, name));
  await expect.poll(() => disk.begun).toBe(1);
  expect(seenBeside()).toBe(4);
  of('late', write(db, 'late'));
  // The process goes on: the transaction is done while the disk works.
  await expect.poll(seenBeside).toBe(5);
  expect(ended).toEqual([]);

  await disk.finish();
  await expect.poll(() => ended).toEqual(['a', 'b', 'c']);
  await disk.finish();
  await expect.poll(() => ended).toEqual(['a', 'b', 'c', 'late']);
  expect(disk.begun).toBe(2);
  await db.destroy();
});

test('a read waits for commits that it may have seen, and costs no sync without any', async () => {
  const { db, disk } = await openHeld();
  expect((await read(db)).length).toBe(1);
  await db.transaction().execute((tx) => tx.selectFrom('secrets').selectAll().execute());
  await db.deleteFrom('secrets').where('name', '=', 'nobody').execute();
  expect(disk.begun).toBe(0);

  const { ended, of } = note();
  of('write', write(db, 'a'));
  of('read', read(db));
  await expect.poll(() => disk.begun).toBe(1);
  // A caller that waits for the disk does not block the connection.
  of('late', write(db, 'b'));
  await expect.poll(seenBeside).toBe(3);
  expect(ended).toEqual([]);
  await disk.finish();
  await expect.poll(() => ended).toEqual(['write', 'read']);
  await disk.finish();
  await expect.poll(() => ended).toEqual(['write', 'read', 'late']);
  await db.destroy();
});

test('a disk that fails once is never trusted again', async () => {
  const { db, disk } = await openHeld();
  const { ended, of } = note();
  of('a', write(db, 'a'));
  await disk.finish(new Error('EIO: i/o error, fdatasync'));
  const refused = 'StoreUnavailable: The disk did not keep what was written: EIO: i/o error, fdatasync';
  await expect.poll(() => ended).toEqual([`a: ${refused}`]);
  await expect(write(db, 'b')).rejects.toThrow('The disk did not keep what was written');
  await expect(read(db)).rejects.toThrow('The disk did not keep what was written');
  await expect(db.destroy()).rejects.toThrow('The disk did not keep what was written');
});

test('a slow disk is synced in the thread, and tried on the event loop after a while', async () => {
  const waits = { onTheSpot: 0, inThread: 0 };
  let slowMs = 12;
  const disk: Disk = {
    syncNow() {
      waits.onTheSpot++;
      for (const end = performance.now() + slowMs; performance.now() < end;);
    },
    sync(done) {
      waits.inThread++;
      setImmediate(done, null);
    },
    close() {},
  };
  const db = openOn(disk);
  for (let n = 0; n < 20; n++) await write(db, `slow${n}`);
  const { onTheSpot } = waits;
  expect(onTheSpot).toBeLessThan(10);
  expect(waits.inThread).toBe(20 - onTheSpot);
  slowMs = 0;
  const onTheSpotAfterOne = () => write(db, randomUUID()).then(() => waits.onTheSpot);
  await expect.poll(onTheSpotAfterOne).toBeGreaterThan(onTheSpot);
  await db.destroy();
});
