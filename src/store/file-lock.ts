import { chownSync, closeSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { codeOf } from './unavailable.ts';

const RETRY_EVERY_MS = 20;

/**
 * Runs work while no other process holds the lock of this file, which is created and stays empty. The lock is SQLite's,
 * so the operating system frees it when its holder is killed. Its owner is the owner of the folder; otherwise a command
 * of root would lock out the service.
 * @throws Error when another process holds the lock for longer than `patienceMs`, or the file cannot be made.
 */
export async function withFileLock<T>(
  path: string,
  { patienceMs }: { patienceMs: number },
  work: () => Promise<T>,
): Promise<T> {
  createLockFile(path);
  const lock = new Sqlite(path, { timeout: 0 });
  try {
    const until = performance.now() + patienceMs;
    while (!take(lock)) {
      if (performance.now() > until) throw new Error(`another process holds ${path}`);
      await delay(RETRY_EVERY_MS);
    }
    return await work();
  } finally {
    lock.close();
  }
}

function take(lock: Sqlite.Database): boolean {
  try {
    lock.exec('begin exclusive');
    return true;
  } catch (error) {
    if (codeOf(error).startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
}

function createLockFile(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
  const { uid, gid } = statSync(dirname(path));
  if (process.getuid?.() === 0 && statSync(path).uid !== uid) chownSync(path, uid, gid);
}
