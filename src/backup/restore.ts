import { randomBytes } from 'node:crypto';
import {
  existsSync,
  linkSync,
  openSync,
  closeSync,
  fsyncSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config.ts';
import { masterKeyPath, newMasterKeyFile } from '../crypto/master-key-file.ts';
import { withVault } from '../crypto/vault.ts';
import {
  readWrappedKeys,
  replaceWrappedKeys,
  unwrapKeys,
  wrapKeys,
  type WrappedKey,
} from '../crypto/wrapped-keys.ts';
import { ANCHOR_NAMES, MARKER_NAME, markerFile } from '../identity/store-marker.ts';
import { thrownMessage } from '../lib/errors.ts';
import { makeFolder, syncFolder } from '../lib/folders.ts';
import { migrateWithin } from '../store/migrate.ts';
import { openStore, type Store } from '../store/open-database.ts';
import type { DbOrTx, Tx } from '../store/schema.ts';
import { analyze } from '../store/statistics.ts';
import { tablesOf } from '../store/table-shapes.ts';
import { MIGRATIONS } from '../store/migrations/migrations.ts';
import { BackupError, type Header, type Progress } from './backup-format.ts';
import { load } from './load-backup.ts';
import { checkKeys, masterKeysOf, type MasterKeys } from './master-keys.ts';
import type { Dump } from './read-dump.ts';

/**
 * Entries that a home may hold before a restore: files of a person, files that a start makes again, and the marker of a
 * lost store. The names of its audit anchor are ANCHOR_NAMES. The master key and its lock may remain from a restore that was killed.
 */
const MAY_STAY = new Set(['connectors', 'cache', 'lost+found', 'master.key', 'master.key.lock', MARKER_NAME]);

export interface Restored {
  header: Header;
  rows: Record<string, number>;
  /** The key file that was written; undefined when the configuration has the keys. */
  keyFile: string | undefined;
}

/**
 * Restores a dump into an empty home and an empty database: all of it, or nothing.
 * @throws BackupError when something is in the way, the dump is not whole, or no master key opens it.
 */
export async function restore(
  config: Config,
  dump: Dump,
  { now, onTable }: { now: number; onTable: Progress },
): Promise<Restored> {
  const { header } = dump;
  refuseUsedHome(config);
  const { keys, keyFile, wrapped } = await chooseKeys(config, header);
  let wroteKeys = false;
  const fill = async (db: DbOrTx): Promise<Record<string, number>> => {
    const rows = await load(db, dump, onTable);
    const secrets = await db.selectFrom('secrets').select(['name', 'sealed']).execute();
    const ofStore = keys ?? (await unwrapped(config, db, header));
    for (const secret of secrets) checkKeys(ofStore, secret);
    if (keyFile) {
      newMasterKeyFile(keyFile, ofStore.keys);
      wroteKeys = true;
    }
    return rows;
  };
  const finish = async (db: DbOrTx): Promise<void> => {
    if (wrapped) await replaceWrappedKeys(db, wrapped, now);
  };
  try {
    const { database } = config;
    const rows =
      database.kind === 'sqlite'
        ? await intoSqlite(database.path, { header, now, fill, finish })
        : await intoPostgres(database.url, { header, now, fill, finish });
    // The next start writes the marker of this store.
    rmSync(markerFile(config), { force: true });
    // The checkpoints of the lost store may be newer than the backup.
    for (const name of entriesOf(config.home).filter((one) => ANCHOR_NAMES.test(one)))
      rmSync(join(config.home, name), { force: true });
    return { header, rows, keyFile };
  } catch (error) {
    if (keyFile && wroteKeys) rmSync(keyFile, { force: true });
    throw error;
  }
}

interface Into {
  header: Header;
  now: number;
  fill(db: DbOrTx): Promise<Record<string, number>>;
  /** Called after the migration to the schema of this release. */
  finish(db: DbOrTx): Promise<void>;
}

/** Writes a draft file next to the path, and renames it to the path when it is complete. */
async function intoSqlite(
  path: string,
  { header, now, fill, finish }: Into,
): Promise<Record<string, number>> {
  makeFolder(dirname(path));
  const draft = `${path}.draft-${randomBytes(4).toString('hex')}`;
  try {
    let rows: Record<string, number>;
    {
      await using store = await openStore({ kind: 'sqlite', path: draft });
      const step = <T>(work: (tx: Tx) => Promise<T>) => store.db.transaction().execute(work);
      await step((tx) => migrateWithin(tx, { now, upTo: header.schemaVersion }));
      rows = await fill(store.db);
      await step((tx) => migrateWithin(tx, { now }));
      await finish(store.db);
      await analyze(store.db);
    }
    syncFile(draft);
    try {
      // A link never replaces a file, so one of two restores at the same time fails.
      linkSync(draft, path);
    } catch (error) {
      if (existsSync(path)) throw error;
      // Some file systems have no links.
      renameSync(draft, path);
    }
    syncFolder(dirname(path));
    return rows;
  } catch (error) {
    if (error instanceof Error && 'syscall' in error)
      throw new BackupError(`Cannot write ${path}: ${thrownMessage(error)}. Nothing was restored.`, {
        cause: error,
      });
    throw error;
  } finally {
    for (const end of ['', '-wal', '-shm']) rmSync(`${draft}${end}`, { force: true });
  }
}

/** Fills the database in one transaction. */
async function intoPostgres(
  url: string,
  { header, now, fill, finish }: Into,
): Promise<Record<string, number>> {
  await using store = await openStore({ kind: 'postgres', url });
  await refuseUsedDatabase(store);
  return await store.noTimeout(async () => {
    const filled = await store.db.transaction().execute(async (tx) => {
      await migrateWithin(tx, { now, upTo: header.schemaVersion });
      const rows = await fill(tx);
      await migrateWithin(tx, { now });
      await finish(tx);
      return rows;
    });
    await analyze(store.db);
    return filled;
  });
}

/** @throws BackupError when the home or the path of the database holds anything. */
function entriesOf(home: string): string[] {
  return existsSync(home) ? readdirSync(home) : [];
}

function refuseUsedHome({ home, database }: Config): void {
  const found = entriesOf(home).filter((name) => !MAY_STAY.has(name) && !ANCHOR_NAMES.test(name));
  if (found.length > 0) {
    throw new BackupError(
      `The home ${home} is not empty: it holds ${found.slice(0, 3).join(', ')}. Restore into another home ` +
        '(GATEHOUSE_HOME), or move these files away.',
    );
  }
  if (database.kind !== 'sqlite') return;
  for (const path of [database.path, `${database.path}-wal`]) {
    if (existsSync(path))
      throw new BackupError(`${path} exists. Move it away, or set DATABASE_URL to another file.`);
  }
}

interface ChosenKeys {
  /** Undefined if the backup has wrapped keys, which are unwrapped after it is loaded. */
  keys: MasterKeys | undefined;
  /** The file to write them to where the configuration has none. */
  keyFile: string | undefined;
  /** The keys wrapped by Vault, if the backup has plain keys and the configuration names Vault. */
  wrapped: WrappedKey[] | undefined;
}

/**
 * Returns the keys of the restored store.
 * @throws BackupError when a key of the store is missing, KeyError when Vault does not wrap one.
 */
async function chooseKeys(config: Config, { masterKeys }: Header): Promise<ChosenKeys> {
  const { keyVault } = config;
  if (keyVault) {
    if (!masterKeys) return { keys: undefined, keyFile: undefined, wrapped: undefined };
    const wrapped = await withVault(keyVault, { retries: false }, (vault) => wrapKeys(vault, masterKeys));
    return { keys: { keys: masterKeys, from: 'the backup' }, keyFile: undefined, wrapped };
  }
  const given = masterKeysOf(config);
  const keyFile = masterKeyPath(config);
  if (given) {
    if (masterKeys?.some((key) => !given.keys.includes(key))) {
      throw new BackupError(
        `${given.from} lacks a master key of the backup. Add that key, or remove ${given.from}: the restore then ` +
          `writes the keys of the backup to ${keyFile}.`,
      );
    }
    return { keys: given, keyFile: undefined, wrapped: undefined };
  }
  if (masterKeys) return { keys: { keys: masterKeys, from: 'the backup' }, keyFile, wrapped: undefined };
  throw new BackupError(
    `The backup holds no master key. Put the key of its store at ${keyFile}, or set GATEHOUSE_MASTER_KEY. Where Vault ` +
      'wrapped the key, set GATEHOUSE_MASTER_KEY=vault:<mount>/<key> as before.',
  );
}

/** Returns the wrapped keys of a loaded backup, unwrapped. @throws BackupError for a backup without any, KeyError of Vault. */
async function unwrapped({ keyVault }: Config, db: DbOrTx, { schemaVersion }: Header): Promise<MasterKeys> {
  const isKnown = (await tablesOf(schemaVersion)).some(({ name }) => name === 'wrapped_keys');
  const rows = isKnown ? await readWrappedKeys(db) : [];
  if (!keyVault || rows.length === 0)
    throw new BackupError(
      'The backup holds no master key that Vault wrapped. Set the key of its store instead.',
    );
  return {
    keys: await withVault(keyVault, { retries: false }, (vault) => unwrapKeys(vault, rows)),
    from: 'Vault',
  };
}

async function refuseUsedDatabase({ db }: Store): Promise<void> {
  const ours = new Set((await tablesOf(MIGRATIONS.length)).map(({ name }) => name));
  const tables = await db.introspection.getTables();
  const found = tables.find(({ name }) => ours.has(name));
  if (found) {
    throw new BackupError(
      `The database of DATABASE_URL is not empty: it has the table ${found.name}. Restore into an empty database.`,
    );
  }
}

function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
