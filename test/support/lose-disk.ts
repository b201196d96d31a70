import { closeSync, readdirSync, readlinkSync } from 'node:fs';

/*
 * Loaded before a process (`--import`): on SIGUSR2 it closes the file that syncs the write-ahead log, so that the next
 * sync fails as on a lost disk. SQLite opened the same log before, and keeps its own file. The first sync opens the
 * other file.
 */
process.on('SIGUSR2', function lose() {
  const logs = readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => pathOf(fd).endsWith('.db-wal'));
  if (logs.length < 2) return void setTimeout(lose, 10);
  closeSync(Math.max(...logs));
  process.stderr.write('lost\n');
});

function pathOf(fd: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // The folder's own descriptor is already closed here.
    return '';
  }
}
