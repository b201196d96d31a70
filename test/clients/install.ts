import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const HERE = import.meta.dirname;
const MINUTE = 60_000;
const run = promisify(execFile);

/**
 * Returns the folder with the clients and suites of package.json, and installs them from npm if they are missing. It
 * is below XDG_CACHE_HOME, else below the temporary folder. The programs of this folder are copied next to them,
 * because a program finds its packages from its own folder.
 * @throws Error when they cannot be installed.
 */
export async function installClients(): Promise<string> {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? tmpdir(), 'gatehouse-clients');
  const lock = readFileSync(join(HERE, 'package-lock.json'));
  const folder = join(cache, createHash('sha256').update(lock).digest('hex').slice(0, 16));
  mkdirSync(cache, { recursive: true });
  if (!existsSync(folder)) {
    // The rename puts the whole folder in place at once, so an interrupted or concurrent run leaves no half of it.
    const fresh = mkdtempSync(join(cache, 'installing-'));
    try {
      for (const name of ['package.json', 'package-lock.json'])
        copyFileSync(join(HERE, name), join(fresh, name));
      await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
        cwd: fresh,
        maxBuffer: 1e8,
        timeout: 6 * MINUTE,
      });
      if (!existsSync(folder)) renameSync(fresh, folder);
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  }
  const programs = join(HERE, 'programs');
  for (const name of readdirSync(programs)) copyFileSync(join(programs, name), join(folder, name));
  return folder;
}
