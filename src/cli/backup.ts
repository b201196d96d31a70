import { join, resolve } from 'node:path';
import { createDecryption, createEncryption } from '../backup/encryption.ts';
import { openBackup } from '../backup/open-backup.ts';
import { restore } from '../backup/restore.ts';
import { writeBackup } from '../backup/write-backup.ts';
import { readConfig } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { makeFolder } from '../lib/folders.ts';
import { MIB } from '../lib/http/http-body.ts';
import { version } from './version.ts';
import type { Progress } from '../backup/backup-format.ts';

/** The file of the store in an exported folder. */
const EXPORTED = 'store.jsonl';

export interface BackupOptions {
  passphraseFile?: string | undefined;
  recipient?: string[] | undefined;
  /** False for `--without-keys`. */
  withKeys: boolean;
  json: boolean;
}

/** Runs `gatehouse backup`. */
export async function backup(file: string, options: BackupOptions): Promise<number> {
  const { passphraseFile, recipient = [] } = options;
  const encryption = passphraseFile
    ? createEncryption({ passphraseFile })
    : recipient.length > 0
      ? createEncryption({ recipients: recipient })
      : undefined;
  return write(resolve(file), { ...options, zip: true, encryption });
}

/** Runs `gatehouse export`: the same lines as a backup, as plain text. */
export async function exportStore(
  folder: string,
  options: Pick<BackupOptions, 'withKeys' | 'json'>,
): Promise<number> {
  makeFolder(resolve(folder));
  return write(join(resolve(folder), EXPORTED), { ...options, zip: false, encryption: undefined });
}

async function write(
  file: string,
  {
    withKeys,
    json,
    zip,
    encryption,
  }: {
    withKeys: boolean;
    json: boolean;
    zip: boolean;
    encryption: ReturnType<typeof createEncryption> | undefined;
  },
): Promise<number> {
  const progress = tableProgress();
  const options = { release: version(), now: systemClock.now(), withKeys, zip, encryption };
  const written = await writeBackup(readConfig(), file, { ...options, onTable: progress.onTable }).finally(
    progress.end,
  );
  const { bytes, schemaVersion, database, rows } = written;
  if (!encryption && written.withKeys) process.stderr.write(`${OPENS_EVERYTHING}\n`);
  if (json) {
    const about = { file, bytes, database, schemaVersion, encrypted: encryption !== undefined };
    process.stdout.write(
      `${JSON.stringify({ ...about, withKeys: written.withKeys, isWrapped: written.isWrapped, rows })}\n`,
    );
    return 0;
  }
  process.stdout.write(`${file}\n`);
  process.stderr.write(
    `${sum(rows)} rows of the ${database} store, ${(bytes / MIB).toFixed(1)} MiB, ${
      written.withKeys
        ? 'with the master key'
        : written.isWrapped
          ? 'with the master key as Vault wrapped it; a restore needs this Vault'
          : 'without the master key, which a restore needs'
    }.\n`,
  );
  return 0;
}

const OPENS_EVERYTHING =
  'This file is not encrypted: a person who has it can open every connected account. Store it like a password.';

export interface RestoreOptions {
  passphraseFile?: string | undefined;
  identityFile?: string | undefined;
  json: boolean;
}

/** Runs `gatehouse restore`. */
export async function restoreStore(
  file: string,
  { passphraseFile, identityFile, json }: RestoreOptions,
): Promise<number> {
  const key = passphraseFile
    ? createDecryption({ passphraseFile })
    : identityFile
      ? createDecryption({ identityFile })
      : undefined;
  const progress = tableProgress();
  const config = readConfig();
  const { header, rows, keyFile } = await openBackup(resolve(file), key)
    .then((dump) => restore(config, dump, { now: systemClock.now(), onTable: progress.onTable }))
    .finally(progress.end);
  const database = config.database.kind;
  if (json) {
    const { at, release, schemaVersion } = header;
    process.stdout.write(
      `${JSON.stringify({ at, release, schemaVersion, from: header.database, database, keyFile: keyFile ?? null, rows })}\n`,
    );
    return 0;
  }
  const whereKey = keyFile
    ? `The master key is in ${keyFile}.`
    : config.keyVault
      ? 'The master key is in the store, wrapped by Vault.'
      : 'The master key is the configured one.';
  process.stderr.write(
    `Restored ${sum(rows)} rows of ${header.at} from ${header.database} into ${database}. ${whereKey}\n` +
      'Stop the old Gatehouse before you start this one: both would poll the same accounts and renew the same tokens.\n',
  );
  return 0;
}

/** Runs `gatehouse import`. */
export async function importStore(folder: string, { json }: { json: boolean }): Promise<number> {
  return restoreStore(join(folder, EXPORTED), { json });
}

function sum(rows: Record<string, number>): number {
  return Object.values(rows).reduce((all, count) => all + count, 0);
}

/** Shows the last finished table in one line of standard error; shows nothing where that is no terminal. */
function tableProgress(): { onTable: Progress; end(): void } {
  const { stderr } = process;
  if (!stderr.isTTY) return { onTable: () => {}, end: () => {} };
  const clear = (): boolean => stderr.write('\r\x1b[K');
  let all = 0;
  return {
    onTable(table, rows) {
      all += rows;
      clear();
      stderr.write(`${all} rows, ${table}`);
    },
    end: clear,
  };
}
