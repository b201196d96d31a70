import { readdirSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from './log.ts';
import { holdFiles, isHeld, packagePath, readPackageFile } from './package.ts';
import { loadSqlite } from './store/load-sqlite.ts';

/** Folders whose files are read while the process runs. */
const FOLDERS = ['dist', 'data'];
/** Files that only a build, a start, a command or a debugger reads. */
const NOT_HELD = /\.map$|[\\/](definitions\.jsonl|examples\.yaml|connector\.yaml|phrases[\\/].*)$/;

/** The first answers of a process come before this, because reading the release would delay them. */
const HOLD_AFTER_MS = 5000;

/** Reads this release into memory soon; see holdPackage(). */
export function holdPackageSoon(log: Pick<Logger, 'debug' | 'warn'>): void {
  setTimeout(() => void holdPackage(log), HOLD_AFTER_MS).unref();
}

/**
 * Reads this release into memory: the code that loads at its first use, the files for browsers and the data. An update
 * may then replace or remove the files of the running process, which continues with its own. Measured: 0.3 s of CPU in
 * the background and 5 MB. A checkout that runs its sources holds nothing.
 */
async function holdPackage(log: Pick<Logger, 'debug' | 'warn'>): Promise<void> {
  if (import.meta.url.endsWith('.ts')) return;
  try {
    // Native code loads at its first use too.
    loadSqlite();
    await holdFiles([packagePath('package.json'), ...FOLDERS.flatMap(filesIn)]);
    loadHeldModules();
    log.debug('files of this release held');
  } catch (err) {
    log.warn({ err }, 'files of this release not held, an update needs a restart');
  }
}

/** Lets Node.js load the modules of this package from memory. */
function loadHeldModules(): void {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const url = specifier.startsWith('.') ? URL.parse(specifier, context.parentURL)?.href : specifier;
      if (url === undefined || !isHeldModule(url)) return nextResolve(specifier, context);
      return { url, format: 'module', shortCircuit: true };
    },
    load(url, context, nextLoad) {
      if (!isHeldModule(url)) return nextLoad(url, context);
      return { source: readPackageFile(fileURLToPath(url)), format: 'module', shortCircuit: true };
    },
  });
}

function isHeldModule(url: string): boolean {
  return url.startsWith('file:') && url.endsWith('.js') && isHeld(fileURLToPath(url));
}

function filesIn(folder: string): string[] {
  return readdirSync(packagePath(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !NOT_HELD.test(path));
}
