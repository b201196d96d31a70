import { readFileSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { deflateRaw, inflateRawSync } from 'node:zlib';

/**
 * Where this package is installed. A file in src/ and a file of the build are as deep as each other, so this is the one
 * place that may go by its own address: the build moves code between files, never the files between folders.
 */
export const PACKAGE_FOLDER = new URL('..', import.meta.url);

/** The folder of the shipped connectors. */
export const CATALOG_FOLDER = packagePath('data/connectors');

/** Files that are read at the same time. */
const READS = 8;

/** Compressed files of this package in memory, by path. They belong to the process, as the code that it runs does. */
const held = new Map<string, Buffer>();

/** Returns the path of a file or folder of this package. */
export function packagePath(name: string): string {
  return fileURLToPath(new URL(name, PACKAGE_FOLDER));
}

/**
 * Puts files of this package into memory, so that an update cannot replace them in this process.
 * @throws Error of node:fs when one cannot be read
 */
export async function holdFiles(paths: readonly string[]): Promise<void> {
  const compress = promisify(deflateRaw);
  // Few at a time, because the ends of many reads would share a turn of the event loop and delay requests.
  const rest = paths.values();
  const read = new Map<string, Buffer>();
  const readRest = async () => {
    for (const path of rest) read.set(path, await compress(await readFile(path), { level: 1 }));
  };
  await Promise.all(Array.from({ length: READS }, readRest));
  // All at once, because listPackageFolder() names only the held files of a folder.
  for (const [path, file] of read) held.set(path, file);
}

export function isHeld(path: string): boolean {
  return held.has(path);
}

/**
 * Returns a file of this package, of the release that runs where the file is in memory.
 * @throws Error of node:fs when it is neither in memory nor on disk.
 */
export function readPackageBytes(path: string): Buffer {
  const file = held.get(path);
  return file === undefined ? readFileSync(path) : inflateRawSync(file);
}

/** Returns the text of a file of this package. @throws Error as readPackageBytes() */
export function readPackageFile(path: string): string {
  return readPackageBytes(path).toString('utf8');
}

/** Returns the names of the files in a folder of this package, as readPackageFile() can read them. */
export function listPackageFolder(folder: string): string[] {
  const names = [...held.keys()].filter((path) => dirname(path) === folder);
  return names.length > 0 ? names.map((path) => path.slice(folder.length + sep.length)) : namesIn(folder);
}

function namesIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  } catch {
    return [];
  }
}
