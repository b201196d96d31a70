import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Names the folder of what the homes of one run share. Workers of Vitest inherit it; without it nothing is shared. */
const VARIABLE = 'TEST_KEPT_FOLDER';

/** Each test has a home of its own, and that each checks every connector anew was most of a start. */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-kept-'));
  mkdirSync(join(folder, 'code'), { mode: 0o700 });
  process.env[VARIABLE] = folder;
  // Programs of tests that run our sources read this by themselves; what they compiled they write out with their last word
  // before they are killed.
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'code');
  return () => rmSync(folder, { recursive: true, force: true });
}

/** Gives a new home the checked definitions and the compiled code of earlier ones, as a second start would find them. */
export function lendKept(home: string): void {
  const kept = process.env[VARIABLE];
  if (!kept) return;
  const cache = join(home, 'cache');
  mkdirSync(cache, { mode: 0o700 });
  for (const name of catalogsIn(kept)) linkSync(join(kept, name), join(cache, name));
  symlinkSync(join(kept, 'code'), join(cache, 'code'));
}

/** Takes what a home has checked for those to come. */
export function returnKept(home: string): void {
  const kept = process.env[VARIABLE];
  const cache = join(home, 'cache');
  if (!kept || !existsSync(cache)) return;
  for (const name of catalogsIn(cache)) {
    try {
      linkSync(join(cache, name), join(kept, name));
    } catch {
      // It is there already: one name stands for one text.
    }
  }
}

function catalogsIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith('catalog-') && name.endsWith('.jsonl'));
}
