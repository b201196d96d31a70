import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { importOpenApi, MEBIBYTE, type Imported, type ImportOptions } from '../../src/openapi/import.ts';

/** A folder of public OpenAPI documents, which are not part of the project. */
export const FOLDER =
  process.env['OPENAPI_DOCUMENTS'] ?? resolve(import.meta.dirname, '../../../shared/openapi');

export const MISSING = `no OpenAPI documents in ${FOLDER}; name their folder in OPENAPI_DOCUMENTS`;

/** Paths of the documents below the folder; none where there is no such folder. */
export const DOCUMENTS = documentsIn('').toSorted();

function documentsIn(folder: string): string[] {
  const path = join(FOLDER, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    const name = join(folder, entry.name);
    if (entry.isDirectory() && !/^(resources|shared)$/.test(entry.name)) return documentsIn(name);
    if (!entry.isFile() || !/\.(json|ya?ml)$/.test(entry.name)) return [];
    return /^\s*["']?(openapi|swagger)["']?\s*:/m.test(textOf(name)) ? [name] : [];
  });
}

export function textOf(document: string): string {
  return readFileSync(join(FOLDER, document), 'utf8');
}

/** Imports a document as the command line does. */
export function importedFrom(document: string, options: Partial<ImportOptions> = {}): Imported {
  const folder = dirname(join(FOLDER, document));
  return importOpenApi(textOf(document), {
    maxBytes: 64 * MEBIBYTE,
    today: '2026-11-23',
    readFile: (path) => readFileSync(join(folder, path), 'utf8'),
    ...options,
  });
}
