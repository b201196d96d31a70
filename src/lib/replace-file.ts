import { randomBytes } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from './folders.ts';

/**
 * Writes a file of mode 0600 atomically, over an earlier one.
 * @throws the error of the system, for example in a folder that cannot be written.
 */
export function replaceFile(file: string, text: string): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    makeFolder(dirname(file));
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}
