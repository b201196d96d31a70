import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogOf, ConnectorFileError, hostingOf, SANDBOX_ID, type ChangeableCatalog } from './catalog.ts';
import { lazyConnector, type ConnectorHead } from './compile.ts';
import { toCached, cacheName, readCached, writeCached, type CachedDefinition } from './definition-cache.ts';
import type { FileFault } from './file-fault.ts';
import { fragmentsPath, sourceHash } from './fragments.ts';
import { overlayOf, overlayPath } from './overlay.ts';
import { readShipped } from './shipped.ts';

/**
 * Loads every `<folder>/<id>/connector.yaml`, and those of `testFolder`, whose third party is this process. Without
 * `sandbox` that connector is left out. With `cacheFolder`, the checked definitions are cached in that folder, and the next
 * start reads them while the files are the same. Parsing and checking YAML takes 40 ms a connector of 30 actions, and
 * every start would wait for it. The build has already checked the shipped files. An invalid file is left out; its
 * faults are in the catalogue.
 * @throws ConnectorFileError with all faults of all files, when no file is valid.
 */
export async function loadCatalog({
  folder,
  testFolder,
  sandbox,
  cacheFolder,
}: {
  folder: string;
  testFolder?: string | undefined;
  sandbox: boolean;
  cacheFolder?: string | undefined;
}): Promise<ChangeableCatalog> {
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
    return hostingOf(head, test, path);
  };
  const besides = files
    .flatMap(({ path }) => [overlayPath(path), fragmentsPath(path)])
    .filter((path) => existsSync(path));
  const cachePath =
    cacheFolder && join(cacheFolder, cacheName([...files.map(({ path }) => path), ...besides]));
  const cached = cachePath && readCached(cachePath);
  if (cached)
    return catalogOf(
      cached.map(({ head, text }) => lazyConnector(head, home(head), text)),
      missing,
    );
  const { definitions, faults } = await readDefinitions(files);
  if (definitions.length === 0 && faults.length > 0) throw new ConnectorFileError(faults);
  // A start with faults does not cache, so that the next start reports them again.
  if (cachePath && faults.length === 0) await writeCached(cachePath, definitions);
  return catalogOf(
    definitions.map(({ head, text }) => lazyConnector(head, home(head), text)),
    [...missing, ...faults],
  );
}

/** Reads connector files. Files that the build has checked are not checked again. */
async function readDefinitions(
  files: readonly { id: string; path: string; test: boolean }[],
): Promise<{ definitions: CachedDefinition[]; faults: FileFault[] }> {
  const shipped = readShipped();
  const definitions: CachedDefinition[] = [];
  const faults: FileFault[] = [];
  for (const file of files) {
    const text = readFileSync(file.path, 'utf8');
    const overlay = overlayOf(file.path);
    const known = shipped.get(sourceHash(text, file.path));
    if (!overlay && known?.head.id === file.id) {
      definitions.push(known);
      continue;
    }
    const { parseWithOverlay } = await import('./parse.ts');
    const parsed = parseWithOverlay({ text, file: file.path, id: file.id, overlay });
    if (parsed.definition) definitions.push(toCached(parsed.definition));
    else faults.push(...parsed.faults);
  }
  return { definitions, faults };
}

function filesIn(folder: string): { id: string; path: string }[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ id: name, path: join(folder, name, 'connector.yaml') }));
}
