import { createHmac, type KeyObject } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { z } from 'zod';
import type { Config } from '../config.ts';
import { thrownMessage } from '../lib/errors.ts';
import { parseJson } from '../lib/json.ts';
import { replaceFile } from '../lib/replace-file.ts';
import { StoreError } from '../store/open-database.ts';

/* The marker of a home says which store the home had at its last start. */

type Place = Pick<Config, 'home' | 'database'>;

const content = z.object({
  /** Name of the store, made of its hash key. A restored store has the name of its backup. */
  storeId: z.string(),
  /** Place of the database: a path within the home, or host and name of a PostgreSQL database. */
  database: z.string(),
});

/** The store that a home had, and the file that says so. */
export interface HadStore {
  storeId: string;
  database: string;
  file: string;
}

export const MARKER_NAME = 'store-id.json';

/** Returns the file of the marker. */
export function markerFile({ home }: Pick<Config, 'home'>): string {
  return join(home, MARKER_NAME);
}

/** Names of files that hold the newest checkpoint of a store; see runtime/audit-anchor.ts. */
export const ANCHOR_NAMES = /^audit-anchor-[0-9a-f]{16}\.json$/;

/** Returns the file of the newest checkpoint of a store. A home may have had several stores. */
export function anchorFile({ home }: Pick<Config, 'home'>, hashKey: KeyObject): string {
  return join(home, `audit-anchor-${storeIdOf(hashKey)}.json`);
}

/** Returns the file of the first API keys, for a start without a terminal. */
export function firstKeysFile({ home }: Pick<Config, 'home'>): string {
  return join(home, 'first-keys');
}

/**
 * Returns the store that the home had; undefined for a new home. It must be read before the store. Otherwise another first
 * start could write both in between, and this process would find a marker after it found no store.
 * @throws StoreError for a file that is no marker.
 */
export function readMarker(config: Pick<Config, 'home'>): HadStore | undefined {
  const file = markerFile(config);
  if (!existsSync(file)) return undefined;
  try {
    return { ...content.parse(parseJson(readFileSync(file, 'utf8'))), file };
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
export function refuseLostFile(config: Place, had: HadStore | undefined): void {
  if (config.database.kind !== 'sqlite') return;
  const { path } = config.database;
  if (!existsSync(path) || statSync(path).size === 0) refuseLostStore(config, had);
}

/** Refuses a database without a store where the home had one. @throws StoreError */
export function refuseLostStore(config: Place, had: HadStore | undefined): void {
  if (had?.database !== placeOf(config)) return;
  throw new StoreError(
    `${shown(config)} holds no store, but ${had.file} says that one was there. Put the database back, together with ` +
      `its file that ends in -wal, or restore a backup. To begin with an empty store, delete ${had.file}.`,
  );
}

/** Refuses a store other than the one that the home had at this place. @throws StoreError */
export function refuseOtherStore(
  config: Place,
  { had, hashKey }: { had: HadStore | undefined; hashKey: KeyObject },
): void {
  const found = storeIdOf(hashKey);
  if (had?.database !== placeOf(config) || had.storeId === found) return;
  throw new StoreError(
    `${shown(config)} holds the store ${found}, but ${had.file} names the store ${had.storeId}. Put the right ` +
      `database back. To go on with this one, delete ${had.file}.`,
  );
}

/** Writes the marker if it changed. A home that cannot be written has none. */
export function writeMarker(
  config: Place,
  { had, hashKey }: { had: HadStore | undefined; hashKey: KeyObject },
): void {
  const value: z.infer<typeof content> = { storeId: storeIdOf(hashKey), database: placeOf(config) };
  if (had?.database === value.database && had.storeId === value.storeId) return;
  try {
    replaceFile(markerFile(config), `${JSON.stringify(value)}\n`);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
  }
}

/** Returns the name of a store. It reveals nothing about the key. */
function storeIdOf(hashKey: KeyObject): string {
  return createHmac('sha256', hashKey).update('gatehouse store id').digest('hex').slice(0, 16);
}

/** Returns the place of the database without credentials. A path within the home stays the same when the home moves. */
function placeOf({ home, database }: Place): string {
  if (database.kind === 'postgres')
    return database.url.replace(/[?#].*$/s, '').replace(/^\w+:\/\/(?:.*@)?/s, '');
  const within = relative(home, database.path);
  return within.startsWith('..') ? database.path : within;
}

function shown({ database }: Place): string {
  return database.kind === 'sqlite' ? `The database ${database.path}` : 'The database of DATABASE_URL';
}
