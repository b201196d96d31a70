import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const ROOM = 4 * 1024 ** 3;

/** A folder for all that this process and its children leave in tmpdir(), processes that are killed too; gone when this one ends. */
export function ownScratch(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'gatehouse-run-'));
  // PostgreSQL runs as a user of its own.
  chmodSync(folder, 0o755);
  process.env['TMPDIR'] = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Puts what the tests write into memory, where the machine has a file system there with room: stores sync each commit, and
 * thousands of them would wait for the disk. What is tested does not depend on it.
 */
export function writeToMemory(): void {
  if (roomIn(MEMORY) >= ROOM) ownScratch(MEMORY);
}

function roomIn(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}
