import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { openBackup } from '../../src/backup/open-backup.ts';
import { restore } from '../../src/backup/restore.ts';
import { writeBackup } from '../../src/backup/write-backup.ts';
import { checkStore } from '../../src/cli/doctor/doctor-store.ts';
import { readConfig, type Config } from '../../src/config.ts';
import { openContext } from '../../src/context.ts';
import { readMarker } from '../../src/identity/store-marker.ts';
import { createLog } from '../../src/log.ts';
import { openStore } from '../../src/store/open-database.ts';
import { lendDatabase, lendKept } from '../support/kept.ts';
import { freshDatabase, STORE_KINDS, type StoreKind } from '../support/stores.ts';

/** A home and a database that no start has used. SQLite is in the home. */
async function newHome(kind: StoreKind, env: Record<string, string> = {}) {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-home-'));
  lendKept(home);
  const fresh = kind === 'postgres' ? await freshDatabase('postgres', { empty: true }) : undefined;
  const url = fresh?.database.kind === 'postgres' ? { DATABASE_URL: fresh.database.url } : {};
  const configWith = (more: Record<string, string> = {}) =>
    readConfig({ GATEHOUSE_HOME: home, ...url, ...env, ...more });
  return {
    home,
    configWith,
    marker: join(home, 'store-id.json'),
    /** Does what a start does before it listens. */
    start: (more?: Record<string, string>) => start(configWith(more)),
    async [Symbol.asyncDispose]() {
      await fresh?.remove();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function start(config: Config): Promise<void> {
  const context = await openContext(config, { log: createLog('silent') });
  await context.close();
}

/** Deletes all that a store holds. */
async function loseStore({ database }: Config): Promise<void> {
  if (database.kind === 'sqlite') {
    for (const end of ['', '-wal', '-shm']) rmSync(`${database.path}${end}`, { force: true });
    return;
  }
  await using store = await openStore(database);
  await sql`drop schema public cascade`.execute(store.db);
  await sql`create schema public`.execute(store.db);
}

async function failuresOf(config: Config): Promise<string[]> {
  return (await checkStore(config)).filter(({ state }) => state === 'fail').map(({ found }) => found);
}

test.each(STORE_KINDS)(
  'a start refuses a lost store of its home, and makes no new one, on %s',
  async (kind) => {
    await using home = await newHome(kind);
    await home.start();
    await home.start();
    const config = home.configWith();
    await loseStore(config);
    const refusal = `holds no store, but ${home.marker} says that one was there`;
    await expect(home.start()).rejects.toThrow(refusal);
    await expect(home.start()).rejects.toThrow(refusal);
    expect(await failuresOf(config)).toEqual([expect.stringContaining(refusal)]);
    expect(config.database.kind === 'sqlite' && existsSync(config.database.path)).toBe(false);
    rmSync(home.marker);
    await home.start();
    expect(await failuresOf(config)).toEqual([]);
  },
);

test.each(STORE_KINDS)('a start refuses another store at the place of its own, on %s', async (kind) => {
  const GATEHOUSE_MASTER_KEY = randomBytes(32).toString('base64');
  await using home = await newHome(kind, { GATEHOUSE_MASTER_KEY });
  await using other = await newHome('sqlite', { GATEHOUSE_MASTER_KEY });
  await home.start();
  const config = home.configWith();
  {
    await using store = await openStore(config.database);
    await store.db.deleteFrom('secrets').execute();
  }
  await expect(home.start()).rejects.toThrow('holds no store');
  await start({ ...other.configWith(), database: config.database });
  await expect(home.start()).rejects.toThrow(/holds the store \w{16}, but \S+ names the store \w{16}/);
  expect(await failuresOf(config)).toEqual([expect.stringContaining('names the store')]);
  rmSync(home.marker);
  await home.start();
});

test.each(STORE_KINDS)('another database by DATABASE_URL starts empty, on %s', async (kind) => {
  await using home = await newHome(kind);
  await using other = await newHome(kind);
  await home.start();
  const before = readFileSync(home.marker, 'utf8');
  const database = other.configWith().database;
  await start({ ...home.configWith(), database });
  expect(readFileSync(home.marker, 'utf8')).not.toBe(before);
  await loseStore({ ...home.configWith(), database });
  await expect(start({ ...home.configWith(), database })).rejects.toThrow('holds no store');
});

test.each(STORE_KINDS)('first starts at the same time refuse nothing, on %s', async (kind) => {
  await using home = await newHome(kind);
  await Promise.all([home.start(), home.start(), home.start()]);
  expect(await failuresOf(home.configWith())).toEqual([]);
});

test('a database that was copied without its log is refused', async () => {
  await using home = await newHome('sqlite');
  await home.start();
  await loseStore(home.configWith());
  // The tables without a row.
  lendDatabase(home.home);
  await expect(home.start()).rejects.toThrow('together with its file that ends in -wal');
});

test('a home that moved keeps its store, and its loss is noticed', async () => {
  await using home = await newHome('sqlite');
  await home.start();
  const moved = `${home.home}-moved`;
  renameSync(home.home, moved);
  try {
    await home.start({ GATEHOUSE_HOME: moved });
    rmSync(join(moved, 'gatehouse.db'));
    await expect(home.start({ GATEHOUSE_HOME: moved })).rejects.toThrow('holds no store');
  } finally {
    rmSync(moved, { recursive: true });
  }
});

test('a backup restores into the home that lost its store', async () => {
  await using home = await newHome('sqlite');
  await home.start();
  const config = home.configWith();
  const file = `${home.home}.backup`;
  const now = Date.now();
  await writeBackup(config, file, { release: '1', now, withKeys: true, zip: true, onTable: () => {} });
  await loseStore(config);
  await expect(home.start()).rejects.toThrow('restore a backup');
  await restore(config, await openBackup(file, undefined), { now, onTable: () => {} });
  rmSync(file);
  await home.start();
  expect(existsSync(home.marker)).toBe(true);
});

test('a home that is a file has no marker', async () => {
  await using home = await newHome('sqlite');
  const file = join(home.home, 'file');
  writeFileSync(file, '');
  expect(readMarker(home.configWith({ GATEHOUSE_HOME: file }))).toBe(undefined);
  expect(await failuresOf(home.configWith({ GATEHOUSE_HOME: file }))).toEqual([]);
});

test('a marker that cannot be read is named', async () => {
  await using home = await newHome('sqlite');
  writeFileSync(home.marker, '{}');
  await expect(home.start()).rejects.toThrow(`Cannot read ${home.marker}`);
});
