import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/*
 * Loaded before a process (`--import`): kills it at its first start. KILL_AT=file: after the file of the first keys is
 * in place, and before the store holds them. KILL_AT=store: after the store holds them, and before they are shown.
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
