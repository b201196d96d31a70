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
import { loadCatalog } from '../../src/connectors/load-catalog.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-database.ts';

/** The checked definitions of the last run; the name of the file changes with the checker and the definitions. */
const CHECKED = join(import.meta.dirname, '../../node_modules/.cache/gatehouse-tests');
const CONNECTORS = join(import.meta.dirname, '../../data/connectors');
/** A database with the schema of this release. Name in the shared folder and in a home. */
const DATABASE = 'gatehouse.db';
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
  {
    await using store = await openStore({ kind: 'sqlite', path: join(folder, DATABASE) });
    await migrate(store, Date.now());
  }
  // Programs of tests that run our sources read this on their own. They write their compiled code just before they are
  // killed.
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'code');
  return () => rmSync(folder, { recursive: true, force: true });
}

/**
 * Gives a new home the checked definitions and the compiled code of earlier homes, as a second start would find them.
 * `catalogFolder`: a folder of connectors other than the shipped ones.
 */
export function lendKept(home: string, catalogFolder?: string): void {
  const kept = process.env[VARIABLE];
  if (!kept) return;
  const cache = join(home, 'cache');
  mkdirSync(cache, { mode: 0o700 });
  const checked = checkedIn(kept, catalogFolder);
  for (const name of catalogsIn(checked)) linkSync(join(checked, name), join(cache, name));
  symlinkSync(join(kept, 'code'), join(cache, 'code'));
}

/** Gives a new home an empty database, because the statements of a schema take as long as many tests. */
export function lendDatabase(home: string): void {
  const kept = process.env[VARIABLE];
  if (kept) copyFileSync(join(kept, DATABASE), join(home, DATABASE));
}

/** Stores the checked definitions of a home for later homes. */
export function returnKept(home: string, catalogFolder?: string): void {
  const kept = process.env[VARIABLE];
  const cache = join(home, 'cache');
  if (!kept || !existsSync(cache)) return;
  const checked = checkedIn(kept, catalogFolder);
  mkdirSync(checked, { recursive: true });
  for (const name of catalogsIn(cache)) {
    try {
      linkSync(join(cache, name), join(checked, name));
    } catch {
      // The file exists already: one name stands for one text.
    }
  }
}

/** Returns the folder for the checked definitions of a catalogue. */
function checkedIn(kept: string, catalogFolder: string | undefined): string {
  return catalogFolder === undefined ? kept : join(kept, catalogFolder.replaceAll(/\W/g, '_'));
}

function catalogsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => name.startsWith('catalog-') && name.endsWith('.jsonl'));
}
