import { randomBytes } from 'node:crypto';
import { createWriteStream, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Config } from '../config.ts';
import { isoTime } from '../lib/clock.ts';
import { syncFolder } from '../lib/folders.ts';
import { thrownMessage } from '../lib/errors.ts';
import { openSnapshot, type Snapshot } from '../store/snapshot.ts';
import { dump } from './dump.ts';
import { BackupError, type Progress } from './backup-format.ts';
import type { Encryption } from './encryption.ts';
import { checkKeys, masterKeysOf, type MasterKeys } from './master-keys.ts';
import { through } from './through.ts';

export interface Written {
  file: string;
  bytes: number;
  schemaVersion: number;
  database: Snapshot['kind'];
  /** Numbers of rows by table. */
  rows: Record<string, number>;
  withKeys: boolean;
  /** True when the master key is in the store, wrapped by a key provider. */
  isWrapped: boolean;
}

interface WriteOptions {
  release: string;
  now: number;
  withKeys: boolean;
  /** Whether the file is compressed. */
  zip: boolean;
  encryption?: Encryption | undefined;
  onTable: Progress;
}

/**
 * Writes the store to a file of mode 0600. The file gets its name only after it is complete and on the disk.
 * @throws BackupError when it exists, cannot be written, or lacks the master key; StoreError, SchemaError.
 */
export async function writeBackup(
  config: Config,
  file: string,
  { release, now, withKeys, zip, encryption, onTable }: WriteOptions,
): Promise<Written> {
  if (existsSync(file)) throw new BackupError(`${file} exists. Choose another name, or remove it.`);
  const before = withKeys ? masterKeysOf(config) : undefined;
  await using snapshot = await openSnapshot(config.database);
  const isWrapped = config.keyVault !== undefined;
  const masterKeys = withKeys && !isWrapped ? await keysOf(config, snapshot, before) : undefined;
  let rows: Record<string, number> = {};
  async function* linesOf(): AsyncGenerator<Uint8Array> {
    rows = yield* dump(snapshot, { release, at: isoTime(now), masterKeys, onTable });
  }
  const lines = linesOf();
  const draft = `${file}.draft-${randomBytes(4).toString('hex')}`;
  try {
    const whole = zip ? through(lines, createGzip()) : lines;
    const bytes = encryption ? await encryption.encrypt(whole) : whole;
    await pipeline(bytes, createWriteStream(draft, { mode: 0o600, flags: 'wx', flush: true }));
    renameSync(draft, file);
    syncFolder(dirname(file));
  } catch (error) {
    if (existsSync(draft)) rmSync(draft);
    if (!isFileError(error)) throw error;
    throw new BackupError(`Cannot write the backup ${file}: ${thrownMessage(error)}. No file was left.`, {
      cause: error,
    });
  } finally {
    // SQLite closes no connection while a statement has rows left.
    await lines.return(undefined);
  }
  return {
    file,
    bytes: statSync(file).size,
    schemaVersion: snapshot.version,
    database: snapshot.kind,
    rows,
    withKeys: masterKeys !== undefined,
    isWrapped,
  };
}

/**
 * Returns the master keys, undefined for a store that was never started. The keys from before the snapshot are included:
 * a rotation that ends at this moment removes a key that the snapshot still needs.
 */
async function keysOf(
  config: Config,
  snapshot: Snapshot,
  before: MasterKeys | undefined,
): Promise<string[] | undefined> {
  const after = masterKeysOf(config) ?? before;
  const found = after && { ...after, keys: [...new Set([...after.keys, ...(before?.keys ?? [])])] };
  for await (const [name, sealed] of snapshot.rows('secrets', ['name', 'sealed'])) {
    if (!found) {
      throw new BackupError(
        `The master key of this store was not found in ${config.home}. Set GATEHOUSE_HOME or GATEHOUSE_MASTER_KEY, ` +
          'or leave the key out: --without-keys.',
      );
    }
    checkKeys(found, { name: String(name), sealed: String(sealed) });
  }
  return found?.keys;
}

function isFileError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
