import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/*
 * Loaded ahead of a process (`--import`): kills it at its first start, once the file of the first keys is in place and the
 * store does not hold them yet (KILL_AT=file), or once the store holds them and they are about to be shown (KILL_AT=store).
 */
const { renameSync, openSync } = fs;
let written = 0;

fs.renameSync = (from, to) => {
  renameSync(from, to);
  if (!String(to).endsWith('/first-keys')) return;
  written++;
  if (process.env['KILL_AT'] === 'file') process.kill(process.pid, 'SIGKILL');
};
fs.openSync = (path, ...rest) => {
  if (written === 1 && String(path).includes('/first-keys.')) process.kill(process.pid, 'SIGKILL');
  return openSync(path, ...rest);
};
syncBuiltinESMExports();
