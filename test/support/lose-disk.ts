import { closeSync, readdirSync, readlinkSync } from 'node:fs';

/*
 * Loaded ahead of a process (`--import`): upon SIGUSR2 the file by which it syncs its write-ahead log is closed, so that the
 * next sync fails as on a disk that is gone. SQLite opened the same log before, and keeps its own.
 */
process.on('SIGUSR2', () => {
  const logs = readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => pathOf(fd).endsWith('.db-wal'));
  closeSync(Math.max(...logs));
  process.stderr.write('lost\n');
});

function pathOf(fd: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // That of the folder itself is closed again by now.
    return '';
  }
}
