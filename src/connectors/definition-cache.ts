import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, rename, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { asciiJson } from '../lib/json.ts';
import { checkerState, fileState } from './checker.ts';
import type { ConnectorHead } from './compile.ts';
import type { ConnectorFile } from './format/format.ts';

/** Content of a cache: shipped connectors, or those of the folder of custom ones. */
type CacheKind = 'catalog' | 'folder';

/**
 * Returns the name under which the definitions of these files are cached. It changes with any of the files and with
 * the checker, because another release may find faults that this one does not.
 */
export function cacheName(paths: readonly string[], kind: CacheKind = 'catalog'): string {
  const hash = createHash('sha256').update(checkerState());
  for (const path of paths) hash.update(fileState(path));
  return `${kind}-${hash.digest('hex').slice(0, 32)}.jsonl`;
}

/** A cached definition: its head, and the whole as JSON text. */
export interface CachedDefinition {
  /** `textHash`: hash of the connector file, in the definitions of a build. */
  head: ConnectorHead & { textHash?: string };
  text(): string;
}

/** Returns a definition in cached form. */
export function toCached(definition: ConnectorFile): CachedDefinition {
  const { id, name, description, categories } = definition;
  return { head: { id, name, description, categories }, text: () => JSON.stringify(definition) };
}

/**
 * Returns the cached definitions of a file, or undefined. It has a line of heads, then a line for each definition,
 * which stays text until it is opened: parsed it takes five times the memory. It is trusted, because a process that
 * can write its folder can also write the database.
 */
export function readCached(path: string): CachedDefinition[] | undefined {
  try {
    const [first = '', ...lines] = readFileSync(path, 'utf8').split('\n');
    const heads: CachedDefinition['head'][] = JSON.parse(first);
    // The file ends with a line break, so the last part is empty.
    if (lines.length !== heads.length + 1 || lines.at(-1) !== '') return undefined;
    return heads.map((head, index) => ({ head, text: () => lines[index] ?? '' }));
  } catch {
    return undefined;
  }
}

/**
 * Returns the text of a file that readCached() reads. It is ASCII, because a single other character would double the
 * memory of the text and the time to read it.
 */
export function cachedText(definitions: readonly CachedDefinition[]): string {
  const heads = JSON.stringify(definitions.map(({ head }) => head));
  return [heads, ...definitions.map(({ text }) => text())].map((line) => `${asciiJson(line)}\n`).join('');
}

/** Caches checked definitions. A folder that cannot be written only costs time at the next start. */
export async function writeCached(path: string, definitions: readonly CachedDefinition[]): Promise<void> {
  const folder = dirname(path);
  const own = basename(path);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const draft = `${path}.${process.pid}`;
    await writeFile(draft, cachedText(definitions), { mode: 0o600 });
    await rename(draft, path);
    const kindPrefix = own.slice(0, own.indexOf('-') + 1);
    const others = (await readdir(folder)).filter((other) => other.startsWith(kindPrefix) && other !== own);
    await Promise.all(others.map((other) => unlink(join(folder, other))));
  } catch {
    // See above.
  }
}
