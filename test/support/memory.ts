import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const ROOM = 4 * 1024 ** 3;

/**
 * Puts what the tests write into memory, where the machine has a file system there with room: stores sync each commit, and
 * thousands of them would wait for the disk. What is tested does not depend on it. Gone when the run ends.
 */
export function writeToMemory(): void {
  if (roomIn(MEMORY) < ROOM) return;
  const folder = mkdtempSync(join(MEMORY, 'gatehouse-test-'));
  // PostgreSQL runs as a user of its own.
  chmodSync(folder, 0o755);
  process.env['TMPDIR'] = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}

function roomIn(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}
