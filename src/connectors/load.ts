import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogOf, homeOf, SANDBOX_ID, type Catalog } from './catalog.ts';
import { unopenedConnector } from './compile.ts';
import type { ConnectorFile } from './format.ts';
import { keptName, readKept, writeKept } from './kept.ts';

/**
 * Loads every `<folder>/<id>/connector.yaml`, and those of `testFolder`, whose third party is this process. Without
 * `sandbox` that connector is left out. With `keepIn`, a folder,
 * the checked definitions are kept there, and the next start reads those while the files are the same: parsing
 * and checking YAML takes 40 ms a connector of 30 actions, and every start would wait for it.
 * @throws ConnectorFileError with all faults of all files.
 */
export async function loadCatalog({
  folder,
  testFolder,
  sandbox,
  keepIn,
}: {
  folder: string;
  testFolder?: string | undefined;
  sandbox: boolean;
  keepIn?: string | undefined;
}): Promise<Catalog> {
  const files = [
    ...filesIn(folder)
      .filter(({ id }) => sandbox || id !== SANDBOX_ID)
      .map((file) => ({ ...file, test: false })),
    ...(testFolder === undefined ? [] : filesIn(testFolder).map((file) => ({ ...file, test: true }))),
  ];
  const tests = new Set(files.filter(({ test }) => test).map(({ id }) => id));
  const keptAs = keepIn && join(keepIn, keptName(files.map(({ path }) => path)));
  const kept = keptAs && readKept(keptAs);
  if (kept)
    return catalogOf(
      kept.map(({ head, text }) => unopenedConnector(head, homeOf(head, tests.has(head.id)), text)),
    );
  const { buildCatalog } = await import('./build.ts');
  const texts = files.map((file) => ({ ...file, text: readFileSync(file.path, 'utf8') }));
  const catalog = buildCatalog(texts);
  if (keptAs) await writeKept(keptAs, definitionsOf(catalog));
  return catalog;
}

function filesIn(folder: string): { id: string; path: string }[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ id: name, path: join(folder, name, 'connector.yaml') }));
}

function definitionsOf(catalog: Catalog): ConnectorFile[] {
  // Every connector is seen in development.
  return catalog.connectors('development').map((connector) => connector.definition);
}
