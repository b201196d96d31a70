import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCached, type CachedDefinition } from './definition-cache.ts';

/** The file with the definitions that the build has checked. A checkout without a build has none. */
export const SHIPPED_FILE = 'definitions.jsonl';
const PATH = join(dirname(fileURLToPath(import.meta.url)), SHIPPED_FILE);

/** Returns the definitions that the build has checked, by the hash of their file's text. */
export function readShipped(): Map<string, CachedDefinition> {
  const shipped = readCached(PATH) ?? [];
  return new Map(shipped.map((one) => [one.head.textHash ?? '', one]));
}
