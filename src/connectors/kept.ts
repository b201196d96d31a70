import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConnectorText } from './catalog.ts';
import type { ConnectorFile } from './format.ts';

/** The checker itself is part of the key: another release may find faults that this one does not. */
const CHECKERS = ['format', 'meaning', 'parse'].map(
  (name) => new URL(`./${name}${import.meta.url.slice(-3)}`, import.meta.url),
);

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
  for (const checker of CHECKERS) hash.update(await readFile(checker));
  for (const { path, text } of files) hash.update(`\0${path}\0${text}`);
  return `catalog-${hash.digest('hex').slice(0, 32)}.json`;
}
