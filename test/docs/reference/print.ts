import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { referencePages } from './pages.ts';

/*
 * npm run reference: writes the pages of docs/ that are printed from the code. test/docs/reference.test.ts fails where one of
 * them is not current. They are in the repository, so that a reader sees them and a review shows each change.
 */

for (const [name, text] of await referencePages()) {
  const path = fileURLToPath(new URL(`../../../${name}`, import.meta.url));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
