import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Where this package is installed. A file in src/ and a file of the build are as deep as each other, so this is the one
 * place that may go by its own address: the build moves code between files, never the files between folders.
 */
export const PACKAGE_FOLDER = new URL('..', import.meta.url);

/** The folder of the shipped connectors. */
export const CATALOG_FOLDER = packagePath('data/connectors');

/** Returns the path of a file or folder of this package. */
export function packagePath(name: string): string {
  return fileURLToPath(new URL(name, PACKAGE_FOLDER));
}

/** Returns the names of the files in a folder of this package; none where there is no folder. */
export function listPackageFolder(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  } catch {
    return [];
  }
}
