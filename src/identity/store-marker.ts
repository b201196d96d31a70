import { createHmac, randomBytes, type KeyObject } from 'node:crypto';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { z } from 'zod';
import type { Config } from '../config.ts';
import { thrownMessage } from '../lib/errors.ts';
import { makeFolder } from '../lib/folders.ts';
import { parseJson } from '../lib/json.ts';
import { StoreError } from '../store/open.ts';
import type { DbOrTx } from '../store/schema.ts';
import { isSealed } from './secrets.ts';

/* The marker of a home: which store it had at its last start. */

type Place = Pick<Config, 'home' | 'database'>;

const marker = z.object({
  /** Name of the store, made of its hash key. A backup and its restored store have the same one. */
  storeId: z.string(),
  /** Place of the database: a path within the home, or host and name of a PostgreSQL database. */
  database: z.string(),
});
export type StoreMarker = z.infer<typeof marker>;

/** Returns the file of the marker. */
export function markerFile({ home }: Pick<Config, 'home'>): string {
  return join(home, 'store-id.json');
}

/** Returns the file of the first API keys, for a start without a terminal. */
export function firstKeysFile({ home }: Pick<Config, 'home'>): string {
  return join(home, 'first-keys');
}

/**
 * Reads the marker. Read it before the store: another first start writes it when its store is sealed, and this process
 * would otherwise find an empty store with a marker.
 * @throws StoreError for a file that is no marker.
 */
export function readMarker(config: Pick<Config, 'home'>): StoreMarker | undefined {
  const file = markerFile(config);
  if (!statSync(file, { throwIfNoEntry: false })) return undefined;
  try {
    return marker.parse(parseJson(readFileSync(file, 'utf8')));
  } catch (error) {
    throw new StoreError(`Cannot read ${file}: ${thrownMessage(error)}. Delete it to start without it.`, {
      cause: error,
    });
  }
}

/**
 * Refuses a database file that is missing or empty where the home had a store. It is called before the database is
 * opened, so that no new file is in the way of the right one.
 * @throws StoreError
 */
export function refuseLostFile(config: Place, known: StoreMarker | undefined): void {
  if (config.database.kind !== 'sqlite') return;
  const file = statSync(config.database.path, { throwIfNoEntry: false });
  if (!file || file.size === 0) refuseIfLost(config, known);
}

/** Refuses a database without a store where the home had one. @throws StoreError */
export async function refuseLostStore(
  db: DbOrTx,
  config: Place,
  known: StoreMarker | undefined,
): Promise<void> {
  if (!(await isSealed(db))) refuseIfLost(config, known);
}

function refuseIfLost(config: Place, known: StoreMarker | undefined): void {
  const place = placeOf(config);
  const firstKeys = firstKeysFile(config);
  const had = known ? known.database === place : isOwn(config) && exists(firstKeys);
  if (!had) return;
  const file = known ? markerFile(config) : firstKeys;
  throw new StoreError(
    `The database ${place} is empty, but ${file} says that a store was there. Put the database back, with the file ` +
      `that ends in -wal, or restore a backup into another home. To begin with an empty store, delete ${file}.`,
  );
}

/**
 * Refuses a store other than the one that the home had at this place, else writes the marker. A home that cannot be
 * written has none.
 * @throws StoreError
 */
export function claimStore(
  config: Place,
  { known, hashKey }: { known: StoreMarker | undefined; hashKey: KeyObject },
): void {
  const found: StoreMarker = { storeId: storeIdOf(hashKey), database: placeOf(config) };
  if (known?.database === found.database && known.storeId !== found.storeId) {
    const file = markerFile(config);
    throw new StoreError(
      `The database ${found.database} holds the store ${found.storeId}, but ${file} names ${known.storeId}. Put the ` +
        `right database back. To go on with this one, delete ${file}.`,
    );
  }
  if (known?.database === found.database) return;
  write(config, found);
}

/** Returns the name of a store. It reveals nothing about the key. */
export function storeIdOf(hashKey: KeyObject): string {
  return createHmac('sha256', hashKey).update('gatehouse store id').digest('hex').slice(0, 16);
}

function write(config: Pick<Config, 'home'>, value: StoreMarker): void {
  const file = markerFile(config);
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    makeFolder(config.home);
    writeFileSync(draft, `${JSON.stringify(value)}\n`, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    if (!(error instanceof Error && 'syscall' in error)) throw error;
  }
}

/** Returns the place of the database without credentials. A path within the home stays the same when the home moves. */
function placeOf({ home, database }: Place): string {
  if (database.kind === 'sqlite') {
    const within = relative(home, database.path);
    return within.startsWith('..') ? database.path : within;
  }
  const { host, pathname } = new URL(database.url);
  return `${host}${pathname}`;
}

/** Returns whether the database is the one of the home, as `first-keys` of releases without a marker supposes. */
function isOwn({ home, database }: Place): boolean {
  return database.kind === 'sqlite' && database.path === join(home, 'gatehouse.db');
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
