import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import type { Config } from '../config.ts';
import { makeFolder } from '../lib/folders.ts';
import { firstKeysFile } from '../identity/store-marker.ts';
import { CommandError } from './faults.ts';
import { thrownMessage } from '../lib/errors.ts';

/**
 * Writes the file as a whole or not at all, synced to the disk, readable by this user alone. It replaces the file of
 * an earlier store, whose keys are dead.
 * @throws CommandError when it cannot be written.
 */
export function writeFirstKeys(config: Pick<Config, 'home'>, text: string): string {
  const file = firstKeysFile(config);
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    makeFolder(config.home);
    const fd = openSync(draft, 'wx', 0o600);
    try {
      writeSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(draft, file);
    return file;
  } catch (error) {
    rmSync(draft, { force: true });
    const reason = thrownMessage(error);
    throw new CommandError(
      `The first API keys could not be written: ${reason}. Make GATEHOUSE_HOME writable, then start again.`,
    );
  }
}
