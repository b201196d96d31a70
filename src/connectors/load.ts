import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogOf, ConnectorFileError, homeOf, SANDBOX_ID, type Catalog } from './catalog.ts';
import { unopenedConnector, type ConnectorHead } from './compile.ts';
import type { ConnectorFile } from './format.ts';
import { keptName, readKept, writeKept } from './kept.ts';

/**
 * Loads every `<folder>/<id>/connector.yaml`, and those of `testFolder`, whose third party is this process. Without
 * `sandbox` that connector is left out. With `keepIn`, a folder,
 * the checked definitions are kept there, and the next start reads those while the files are the same: parsing
 * and checking YAML takes 40 ms a connector of 30 actions, and every start would wait for it.
 * A file that is not right is left out; its faults are in the catalogue.
 * @throws ConnectorFileError with all faults of all files, when no file is right.
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
  const all = [
    ...filesIn(folder)
      .filter(({ id }) => sandbox || id !== SANDBOX_ID)
      .map((file) => ({ ...file, test: false })),
    ...(testFolder === undefined ? [] : filesIn(testFolder).map((file) => ({ ...file, test: true }))),
  ];
  const files = all.filter(({ path }) => existsSync(path));
  const missing = all
    .filter((file) => !files.includes(file))
    .map(({ path }) => ({ file: path, path: '', rule: 'is missing from its folder' }));
  const byId = new Map(files.map((file) => [file.id, file]));
  const home = (head: ConnectorHead) => {
    const { test = false, path = '' } = byId.get(head.id) ?? {};
    return homeOf(head, test, path);
  };
  const keptAs = keepIn && join(keepIn, keptName(files.map(({ path }) => path)));
  const kept = keptAs && readKept(keptAs);
  if (kept)
    return catalogOf(
      kept.map(({ head, text }) => unopenedConnector(head, home(head), text)),
      missing,
    );
  const { compileFiles } = await import('./build.ts');
  const texts = files.map((file) => ({ ...file, text: readFileSync(file.path, 'utf8') }));
  const { connectors, faults } = compileFiles(texts);
  if (connectors.length === 0 && faults.length > 0) throw new ConnectorFileError(faults);
  const catalog = catalogOf(connectors, [...missing, ...faults]);
  // A start with faults checks again, so that it reports them again.
  if (keptAs && faults.length === 0) await writeKept(keptAs, definitionsOf(catalog));
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
