import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

const MINUTE = 60_000;
const run = promisify(execFile);

/**
 * Installs the packages of a folder's package-lock.json from npm, and returns the folder with them. It is below
 * XDG_CACHE_HOME, else below the temporary folder, and later runs reuse it. The other files of the folder are copied
 * next to the packages, because a program finds its packages from its own folder.
 * @throws Error when they cannot be installed.
 */
export async function installPackages(source: string): Promise<string> {
  const folder = installed(source);
  if (!existsSync(folder)) {
    mkdirSync(join(folder, '..'), { recursive: true });
    // The rename puts the whole folder in place at once, so an interrupted or concurrent run leaves no half of it.
    const fresh = mkdtempSync(`${folder}-installing-`);
    try {
      cpSync(source, fresh, { recursive: true });
      await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
        cwd: fresh,
        maxBuffer: 1e8,
        timeout: 10 * MINUTE,
      });
      if (!existsSync(folder)) renameSync(fresh, folder);
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  }
  cpSync(source, folder, { recursive: true });
  return folder;
}

/** Returns whether the packages of a folder were installed before. */
export const areInstalled = (source: string): boolean => existsSync(installed(source));

function installed(source: string): string {
  const lock = readFileSync(join(source, 'package-lock.json'));
  const hash = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const cache = join(process.env['XDG_CACHE_HOME'] ?? tmpdir(), 'gatehouse-packages');
  return join(cache, `${basename(source)}-${hash}`);
}
