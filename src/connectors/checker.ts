import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memoByText } from '../lib/memo.ts';

const OWN_FOLDER = dirname(fileURLToPath(import.meta.url));
const CODE = extname(import.meta.url);

/** Returns the paths of the code that checks connector files, in a checkout and in the build. */
export function checkerFiles(): string[] {
  return readdirSync(OWN_FOLDER)
    .filter((name) => extname(name) === CODE)
    .map((name) => join(OWN_FOLDER, name));
}

/**
 * Returns a hash of that code: equal on all machines that run one release. A definition that other code checked may
 * lack members, and other code may find other faults.
 */
export function checkerHash(): string {
  return hashOfFolder(OWN_FOLDER);
}

const hashOfFolder = memoByText(1, () => {
  const hash = createHash('sha256');
  for (const path of checkerFiles().toSorted()) hash.update(readFileSync(path)).update('\n');
  return hash.digest('base64url');
});
