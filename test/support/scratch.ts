import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const ROOM = 4 * 1024 ** 3;

/**
 * Creates the temporary folder of this process and its children, killed ones too; it is removed when this process
 * ends.
 */
export function ownScratch(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'gatehouse-run-'));
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o755);
  process.env['TMPDIR'] = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Puts the files of the tests into memory, where the machine has such a file system with enough space. Stores sync
 * each commit, and thousands of them would wait for the disk. The results do not depend on it.
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
