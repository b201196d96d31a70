import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ConnectorText } from './catalog.ts';
import type { ConnectorFile } from './format.ts';

/** This folder has the checker in it, in a checkout as in the build (whose names carry hashes of what is inside). */
const OWN_FOLDER = dirname(fileURLToPath(import.meta.url));
const CODE = extname(import.meta.url);

/** Definitions kept for exactly these texts, or undefined. Whoever can write the folder can write the database too. */
export async function readKept(folder: string, files: ConnectorText[]): Promise<ConnectorFile[] | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, await nameOf(files)), 'utf8'));
  } catch {
    return undefined;
  }
}

/** Keeps checked definitions. A folder that cannot be written costs time at the next start, and nothing else. */
export async function writeKept(
  folder: string,
  files: ConnectorText[],
  definitions: ConnectorFile[],
): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const name = await nameOf(files);
    const draft = join(folder, `${name}.${process.pid}`);
    await writeFile(draft, JSON.stringify(definitions), { mode: 0o600 });
    await rename(draft, join(folder, name));
    const others = (await readdir(folder)).filter((other) => other.startsWith('catalog-') && other !== name);
    await Promise.all(others.map((other) => unlink(join(folder, other))));
  } catch {
    // See above.
  }
}

async function nameOf(files: ConnectorText[]): Promise<string> {
  const hash = createHash('sha256');
  hash.update(checkerId());
  for (const { path, text } of files) hash.update(`\0${path}\0${text}`);
  return `catalog-${hash.digest('hex').slice(0, 32)}.json`;
}

/** The checker is part of the key: another release may find faults that this one does not. */
function checkerId(): string {
  const names = readdirSync(OWN_FOLDER).filter((name) => extname(name) === CODE);
  return names
    .map((name) => {
      const { size, mtimeMs } = statSync(join(OWN_FOLDER, name));
      return `${name} ${size} ${mtimeMs}\n`;
    })
    .join('');
}
