import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import { fileText } from '../lib/http/body-text.ts';
import { GatehouseError, thrownMessage } from '../lib/errors.ts';
import { MIB } from '../lib/http/http-body.ts';
import type { ReadFile } from './documents.ts';

/** Most bytes of a document of the command line, with the files that it refers to. */
export const MAX_FILE_BYTES = 64 * MIB;

/**
 * Reads a document; a device or a pipe could be endless.
 * @throws GatehouseError `invalid_request`
 */
export function readDocument(path: string): string {
  try {
    const { size } = requireFile(path);
    if (size > MAX_FILE_BYTES)
      throw new Error(`is ${Math.ceil(size / MIB)} MiB; a document has at most 64 MiB`);
    return fileText(readFileSync(path));
  } catch (error) {
    throw new GatehouseError('invalid_request', `Cannot read ${path}: ${thrownMessage(error)}`);
  }
}

/** Returns the reader of files in the document's own folder. Links are resolved before the folder is compared. */
export function fileReader(document: string): ReadFile {
  const folder = realpathSync(dirname(resolve(document)));
  return (path) => {
    const real = realpathSync(resolve(folder, path));
    if (!real.startsWith(folder.endsWith(sep) ? folder : folder + sep))
      throw new Error('the file is outside of the folder of the document');
    const { size } = requireFile(real);
    if (size > MAX_FILE_BYTES) throw new Error('the file is over 64 MiB');
    return fileText(readFileSync(real));
  };
}

function requireFile(path: string) {
  const found = statSync(path);
  if (!found.isFile()) throw new Error('is no file');
  return found;
}
