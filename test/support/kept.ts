import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCatalog } from '../../src/connectors/load.ts';

/** The checked definitions of the last run; the name of the file changes with the checker and the definitions. */
const CHECKED = join(import.meta.dirname, '../../node_modules/.cache/gatehouse-tests');
const CONNECTORS = join(import.meta.dirname, '../../data/connectors');
/** Name of the folder that the homes of one run share. Workers of Vitest inherit it; without it they share nothing. */
const VARIABLE = 'TEST_KEPT_FOLDER';

/** Creates the shared folder. Each test has its own home, and most of a start was checking every connector again. */
export async function setup(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-kept-'));
  mkdirSync(join(folder, 'code'), { mode: 0o700 });
  process.env[VARIABLE] = folder;
  // The first run of a checkout checks the definitions, instead of each of its processes.
  mkdirSync(CHECKED, { recursive: true });
  await loadCatalog({ folder: CONNECTORS, sandbox: true, cacheFolder: CHECKED });
  for (const name of catalogsIn(CHECKED)) copyFileSync(join(CHECKED, name), join(folder, name));
  // Programs of tests that run our sources read this on their own. They write their compiled code just before they are
  // killed.
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'code');
  return () => rmSync(folder, { recursive: true, force: true });
}

/**
 * Gives a new home the checked definitions and the compiled code of earlier homes, as a second start would find them.
 */
export function lendKept(home: string): void {
  const kept = process.env[VARIABLE];
  if (!kept) return;
  const cache = join(home, 'cache');
  mkdirSync(cache, { mode: 0o700 });
  for (const name of catalogsIn(kept)) linkSync(join(kept, name), join(cache, name));
  symlinkSync(join(kept, 'code'), join(cache, 'code'));
}

/** Stores the checked definitions of a home for later homes. */
export function returnKept(home: string): void {
  const kept = process.env[VARIABLE];
  const cache = join(home, 'cache');
  if (!kept || !existsSync(cache)) return;
  for (const name of catalogsIn(cache)) {
    try {
      linkSync(join(cache, name), join(kept, name));
    } catch {
      // The file exists already: one name stands for one text.
    }
  }
}

function catalogsIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith('catalog-') && name.endsWith('.jsonl'));
}
