import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readConfig } from '../../config.ts';
import { SANDBOX_ID } from '../../connectors/catalog.ts';
import { thrownMessage } from '../../lib/errors.ts';
import { CATALOG_FOLDER } from '../../package.ts';
import { CommandError } from '../faults.ts';

/* Where commands write connector files. */

/** Returns the folder of connectors: the given one, else the folder of a running Gatehouse. */
export function folderOf(into: string | undefined): string {
  return into ?? readConfig().connectorsFolder;
}

/**
 * Returns the file of a connector: in the given folder, else in that of a running Gatehouse, else the shipped one.
 * @throws CommandError where there is none.
 */
export function fileOf(connectorId: string, into: string | undefined): string {
  const own = join(folderOf(into), connectorId, 'connector.yaml');
  if (existsSync(own)) return own;
  const shipped = join(CATALOG_FOLDER, connectorId, 'connector.yaml');
  if (into === undefined && existsSync(shipped)) return shipped;
  throw new CommandError(`There is no ${own}.`);
}

/** Returns whether a shipped connector has the id. */
export function isShipped(id: string): boolean {
  return id === SANDBOX_ID || existsSync(join(CATALOG_FOLDER, id));
}

/** @throws CommandError for the id of a shipped connector. */
export function requireOwnId(id: string): void {
  if (isShipped(id)) throw new CommandError(`There is a shipped connector "${id}". Choose another id.`);
}

/** Prints what a person does after a connector file was written. */
export function printNextSteps(file: string, edit: string): void {
  process.stderr.write(
    [
      'Next:',
      `  1. ${edit}`,
      `  2. gatehouse connectors check ${file}`,
      '  3. A running Gatehouse uses the file while it is in its folder GATEHOUSE_CONNECTORS, without a restart.',
      '',
    ].join('\n'),
  );
}

/** Writes a file whole or not at all: two imports at once leave the text of one of them. */
export async function writeWhole(file: string, content: string): Promise<void> {
  const draft = `${file}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(draft, content);
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw new CommandError(`Cannot write ${file}: ${thrownMessage(error)}`);
  }
}
