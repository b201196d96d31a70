import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { catalogOf, environmentsOf, SANDBOX_ID, type Catalog } from './catalog.ts';
import { compileConnector } from './compile.ts';
import type { ConnectorFile } from './format.ts';
import { readKept, writeKept } from './kept.ts';

/**
 * Loads every `<folder>/<id>/connector.yaml`. Without `sandbox` that connector is left out. With `keepIn`, a folder,
 * the checked definitions are kept there, and the next start reads those while the files are the same: parsing
 * and checking YAML takes 40 ms a connector of 30 actions, and every start would wait for it.
 * @throws ConnectorFileError with all faults of all files.
 */
export async function loadCatalog({
  folder,
  sandbox,
  keepIn,
}: {
  folder: string;
  sandbox: boolean;
  keepIn?: string | undefined;
}): Promise<Catalog> {
  const entries = await readdir(folder, { withFileTypes: true });
  const ids = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const files = await Promise.all(
    ids
      .filter((id) => sandbox || id !== SANDBOX_ID)
      .map(async (id) => {
        const path = join(folder, id, 'connector.yaml');
        return { path, id, text: await readFile(path, 'utf8') };
      }),
  );
  const kept = keepIn === undefined ? undefined : await readKept(keepIn, files);
  if (kept)
    return catalogOf(kept.map((definition) => compileConnector(definition, environmentsOf(definition))));
  const { buildCatalog } = await import('./build.ts');
  const catalog = buildCatalog(files);
  if (keepIn !== undefined) await writeKept(keepIn, files, definitionsOf(catalog));
  return catalog;
}

function definitionsOf(catalog: Catalog): ConnectorFile[] {
  // Every connector is seen in development.
  return catalog.connectors('development').map((connector) => connector.definition);
}
