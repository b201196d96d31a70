import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fchownSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config.ts';
import { thrownMessage } from '../lib/errors.ts';
import { makeFolder, syncFolder } from '../lib/folders.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { readMasterKey } from '../lib/master-key-text.ts';
import { withFileLock } from '../store/file-lock.ts';
import { createKeyRing, KeyError, newMasterKey, type ChangingKeys, type KeyRing } from './key-ring.ts';

/** How long a process may use the keys that it read earlier. */
export const REREAD_MS = SECOND;

type KeyConfig = Pick<Config, 'masterKeys' | 'masterKeyFile' | 'home'>;

/** Returns the file of the master keys. It holds the keys in base64, one a line; the first one seals. */
export function masterKeyPath({ masterKeyFile, home }: Pick<Config, 'masterKeyFile' | 'home'>): string {
  return masterKeyFile ?? join(home, 'master.key');
}

/**
 * Loads the keys of GATEHOUSE_MASTER_KEY, of the file GATEHOUSE_MASTER_KEY_FILE, or of `<home>/master.key`. A missing
 * `<home>/master.key` is created with mode 0600, exclusively: of two concurrent first starts one writes and the other
 * reads. If the store `isSealed`, no key is created, because a new one would not open its rows. A ring of a file
 * follows the changes of the file within a second.
 * @throws KeyError when a key or its file cannot be used.
 */
export function loadKeyRing(config: KeyConfig, { isSealed = false } = {}): KeyRing {
  if (config.masterKeys) return createKeyRing(notGuessable(config.masterKeys));
  const path = masterKeyPath(config);
  if (!config.masterKeyFile) {
    if (isSealed && !existsSync(path)) {
      throw new KeyError(
        `The store holds sealed data, and its master key ${path} is missing. Put the key back from a backup, or set ` +
          'GATEHOUSE_MASTER_KEY. No new key was made, because it would open nothing.',
      );
    }
    createKeyFile(path);
  }
  const source = followFile(path);
  const ring = createKeyRing(notGuessable(readMasterKeys(path)), source);
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new KeyError(`The master key file ${path} can be read by others. Run: chmod 600 ${path}`);
  }
  return ring;
}

/**
 * Returns the keys, if the first one, which seals, is not one repeated byte. Such a key still opens the rows of a store
 * that was made with it.
 * @throws KeyError
 */
function notGuessable(keys: string[]): string[] {
  const [writer] = keys;
  const bytes = writer === undefined ? undefined : readMasterKey(writer);
  if (bytes && new Set(bytes).size === 1)
    throw new KeyError(
      'The master key is one repeated byte, which anyone can guess: put a new one before it (openssl rand -base64 32), ' +
        'and run gatehouse master-key rotate.',
    );
  return keys;
}

/** Returns the keys of a file in base64. @throws KeyError when the file cannot be read. */
export function readMasterKeys(path: string): string[] {
  try {
    return keysIn(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new KeyError(`Cannot read the master key file ${path}: ${thrownMessage(error)}`, { cause: error });
  }
}

/** Writes keys to a file that does not exist yet, of mode 0600, and puts it on the disk. @throws the error of open(2). */
export function newMasterKeyFile(path: string, keys: readonly string[]): void {
  makeFolder(dirname(path));
  writeFileSync(path, `${keys.join('\n')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  syncFolder(dirname(path));
}

/**
 * Replaces the keys of a file by those that `change` returns; undefined leaves the file as it is. A lock lets one process
 * do this at a time. Otherwise the slower of two commands could overwrite the new key of the other one, and the rows that
 * this key sealed would be lost.
 * @throws KeyError when the file cannot be read or written, or another command holds it for a minute.
 */
export async function changeMasterKeys(
  path: string,
  change: (keys: string[]) => Promise<readonly string[] | undefined>,
): Promise<void> {
  // An error of `change` is returned here and thrown below, so that only errors of the lock become a KeyError.
  const changed = async () => {
    try {
      const keys = await change(readMasterKeys(path));
      if (keys) writeMasterKeys(path, keys);
      return undefined;
    } catch (error) {
      return { error };
    }
  };
  let failed: { error: unknown } | undefined;
  try {
    failed = await withFileLock(`${path}.lock`, { patienceMs: MINUTE }, changed);
  } catch (error) {
    throw new KeyError(`Cannot lock the master key file ${path}: ${thrownMessage(error)}. Try again.`, {
      cause: error,
    });
  }
  if (failed) throw failed.error;
}

/** Replaces the file in one step: a reader sees either all old keys or all new keys. */
function writeMasterKeys(path: string, keys: readonly string[]): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const { uid, gid } = statSync(path);
    const file = openSync(draft, 'wx', 0o600);
    try {
      // The service could not read a file of another user, for example of root.
      if (uid !== process.getuid?.()) fchownSync(file, uid, gid);
      writeFileSync(file, `${keys.join('\n')}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (error) {
    if (existsSync(draft)) unlinkSync(draft);
    throw new KeyError(`Cannot write the master key file ${path}: ${thrownMessage(error)}`, { cause: error });
  }
}

/**
 * Returns the keys of a file as a source that is read again when the file changed. A file that is gone or holds no
 * valid key changes nothing, because the process still has the keys that opened its data.
 */
function followFile(path: string): ChangingKeys {
  let seen = versionOf(path);
  let checkedAt = performance.now();
  return {
    changed() {
      if (performance.now() - checkedAt < REREAD_MS) return undefined;
      checkedAt = performance.now();
      const version = versionOf(path);
      if (version === undefined || version === seen) return undefined;
      try {
        const keys = readMasterKeys(path);
        createKeyRing(notGuessable(keys));
        seen = version;
        return keys;
      } catch (error) {
        if (error instanceof KeyError) return undefined;
        throw error;
      }
    },
  };
}

/** Returns a text that differs when the file was replaced or written; undefined without a file. */
function versionOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.ino}|${found.mtimeMs}|${found.size}`;
}

function keysIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((part) => part !== '');
}

function createKeyFile(path: string): void {
  try {
    makeFolder(dirname(path));
    if (existsSync(path)) return;
    // The file is written under another name and then linked. Otherwise a concurrent first start could read half a key.
    const draft = `${path}.${randomBytes(6).toString('hex')}`;
    writeFileSync(draft, `${newMasterKey()}\n`, { mode: 0o600, flag: 'wx' });
    try {
      linkSync(draft, path);
    } catch (error) {
      // A concurrent first start was faster; its key is used.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    } finally {
      unlinkSync(draft);
    }
  } catch (error) {
    throw new KeyError(
      `Cannot write the master key file ${path}: ${thrownMessage(error)}. Set GATEHOUSE_HOME to a folder that this user may write.`,
      { cause: error },
    );
  }
}
