import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { once } from '../lib/memo.ts';

const OWN_FOLDER = dirname(fileURLToPath(import.meta.url));
const CODE = extname(import.meta.url);

/** Returns the paths of the code that checks connector files. The build has all its code in one folder. */
function checkerFiles(): string[] {
  return readdirSync(OWN_FOLDER, { recursive: CODE === '.ts', encoding: 'utf8' })
    .filter((name) => extname(name) === CODE)
    .map((name) => join(OWN_FOLDER, name))
    .toSorted();
}

/** Returns the state of a file, which changes with its text: a change that keeps size and time changes the inode's time. */
export function fileState(path: string): string {
  const { size, mtimeMs, ctimeMs, ino } = statSync(path);
  return `${path} ${size} ${mtimeMs} ${ctimeMs} ${ino}\n`;
}

/** Returns the state of that code as it was when this process first asked, because an update may replace the files. */
export const checkerState = once(() => checkerFiles().map(fileState).join(''));

/**
 * Returns a hash of that code: equal on all machines that run one release. A definition that other code checked may
 * lack members, and other code may find other faults.
 */
export const checkerHash = once(() => {
  const hash = createHash('sha256');
  for (const path of checkerFiles()) hash.update(readFileSync(path, 'utf8')).update('\n');
  return hash.digest('base64url');
});
