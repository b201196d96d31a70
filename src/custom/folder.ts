import { join } from 'node:path';
import type { Base } from '../base.ts';
import { faultLine, type ChangeableCatalog, type Connector, type MapBounded } from '../connectors/catalog.ts';
import { lazyConnector } from '../connectors/compile.ts';
import {
  cacheName,
  readCached,
  toCached,
  writeCached,
  type CachedDefinition,
} from '../connectors/definition-cache.ts';
import type { FileFault } from '../connectors/file-fault.ts';
import { recordedBeside } from '../connectors/recorded.ts';
import { GatehouseError, thrownMessage } from '../lib/errors.ts';
import { createLoop } from '../runtime/loop.ts';
import { ENVIRONMENTS } from '../store/environments.ts';
import type { Builds } from './builds.ts';
import type { FolderDefinition, FolderTexts } from './folder-definition.ts';
import { listFolder, readText, type FolderEntry } from './folder-files.ts';

type FolderContext = Pick<Base, 'config' | 'log' | 'intervals'> & {
  readonly builds: Pick<Builds, 'readFolder'>;
  readonly catalog: ChangeableCatalog;
  readonly mapBounded: MapBounded;
};

/** Keeps the catalogue of this process equal to the files of the folder of custom connectors. */
export interface ConnectorFolder {
  /** Reads the folder. Never rejects, because a faulty folder must not stop a start. */
  load(): Promise<void>;
  /** Looks for changed files from now on. */
  start(): void;
  close(): Promise<void>;
}

/** A connector of the folder at the last look. */
interface Known {
  /** The state of its files that `connector` and `faults` belong to. */
  stamp: string;
  /** A changed state, until the next look finds it again: a file that is being written changes once more. */
  pending?: string | undefined;
  /** The last good version; undefined when no version was good. */
  connector: Connector | undefined;
}

type Cached = ReadonlyMap<string, CachedDefinition>;
type Read = (texts: FolderTexts) => Promise<FolderDefinition>;

/** Files of this size are checked in a process of their own; smaller ones take 100 ms at most. */
const LARGE_CHARS = 64 * 1024;

/** Reads a file in this process. */
const readHere: Read = async (texts) => {
  const { readFolderDefinition } = await import('./folder-definition.ts');
  return readFolderDefinition(texts);
};

export function createConnectorFolder(context: FolderContext): ConnectorFolder {
  const { config, catalog, log, mapBounded } = context;
  const folder = config.connectorsFolder;
  let known = new Map<string, Known>();
  let folderFault: string | undefined;
  let faultsAtStart = 0;

  const report = (faults: readonly FileFault[], outcome: 'left out' | 'last good version stays') => {
    for (const fault of faults) log.error(fault, `custom connector file is faulty, ${outcome}`);
  };

  /** Reads a file while the process serves requests. Checking a whole public API takes seconds. */
  const readBeside: Read = async (texts) => {
    if (texts.text.length < LARGE_CHARS) return readHere(texts);
    const { definition, faults } = await context.builds.readFolder({ type: 'folder', texts });
    return { faults, ...(definition ? { definition: { ...definition, text: () => definition.text } } : {}) };
  };

  /** Returns the connector of an entry, read again when its files changed. `cached`: at the first look. */
  const look = async (entry: FolderEntry, cached: Cached | undefined): Promise<Known> => {
    const before = known.get(entry.id);
    if (before?.stamp === entry.stamp) return { ...before, pending: undefined };
    const kept = { stamp: before?.stamp ?? '', connector: before?.connector, pending: entry.stamp };
    if (!cached && before?.pending !== entry.stamp) return kept;
    const read = cached ? readHere : readBeside;
    const { definition, faults } = await readEntry(catalog, entry, { cached, read });
    report(faults, kept.connector ? 'last good version stays' : 'left out');
    if (cached) faultsAtStart += faults.length;
    else if (definition) log.info({ connectorId: entry.id }, 'custom connector file is used');
    const connector = definition ? connectorOf(entry, definition, mapBounded) : kept.connector;
    return { stamp: entry.stamp, connector };
  };

  const turn = async (isFirst = false): Promise<void> => {
    const { entries, fault } = await listFolder(folder);
    if (fault && folderFault !== fault.rule) report([fault], 'last good version stays');
    folderFault = fault?.rule;
    // A folder that cannot be read now keeps its connectors.
    if (fault) return;
    const cachePath = isFirst ? cachePathOf(config, entries) : undefined;
    const cached = cachePath === undefined ? undefined : readCached(cachePath);
    const byId = new Map(cached?.map((one) => [one.head.id, one]));
    const next = new Map<string, Known>();
    for (const entry of entries) next.set(entry.id, await look(entry, isFirst ? byId : undefined));
    known = next;
    const connectors = [...known.values()].map(({ connector }) => connector);
    catalog.replace(
      'folder',
      connectors.filter((one) => one !== undefined),
    );
    // A start with faults does not cache, so that the next start reports them again.
    if (cachePath !== undefined && !cached && faultsAtStart === 0 && entries.length > 0)
      await writeCached(cachePath, definitionsOf(known));
  };

  const loop = createLoop({
    turn: () => turn(),
    onError: (error) => log.warn({ err: error }, 'look for changed connector files failed, will retry'),
  });
  return {
    async load() {
      try {
        await turn(true);
      } catch (error) {
        log.error({ err: error, folder }, 'folder of connectors not read');
      }
    },
    start: () => loop.every(context.intervals.workMs),
    close: () => loop.close(),
  };
}

/** Returns where the definitions of these files are cached, so that a start need not parse them. */
function cachePathOf({ home }: Base['config'], entries: readonly FolderEntry[]): string {
  const paths = entries.flatMap(({ files }) => files);
  return join(home, 'cache', cacheName(paths, 'folder'));
}

function definitionsOf(known: ReadonlyMap<string, Known>): CachedDefinition[] {
  return [...known.values()].flatMap(({ connector }) => (connector ? [toCached(connector.definition)] : []));
}

/** Returns every fault of the folder as a line, and the ids of its good connectors, for `gatehouse doctor`. */
export async function inspectFolder(
  catalog: ChangeableCatalog,
  folder: string,
): Promise<{ ids: string[]; faults: string[] }> {
  const { entries, fault } = await listFolder(folder);
  const read = await Promise.all(
    entries.map(async (entry) => {
      const { faults } = await readEntry(catalog, entry, { read: readHere });
      return { id: entry.id, faults };
    }),
  );
  const faults = [...(fault ? [fault] : []), ...read.flatMap((one) => one.faults)];
  const ids = read.filter((one) => one.faults.length === 0).map(({ id }) => id);
  return { ids, faults: faults.map(faultLine) };
}

async function readEntry(
  catalog: ChangeableCatalog,
  entry: FolderEntry,
  { cached, read }: { cached?: Cached | undefined; read: Read },
): Promise<FolderDefinition> {
  const { id, path, faults } = entry;
  if (faults.length > 0) return { faults };
  if (catalog.holderOf(id) === 'shipped')
    return { faults: [{ file: path, path: 'id', rule: `"${id}" is the id of a shipped connector` }] };
  const found = cached?.get(id);
  if (found) return { definition: found, faults: [] };
  try {
    const texts = new Map(
      await Promise.all(entry.files.map(async (file) => [file, await readText(file)] as const)),
    );
    const overlay = entry.files.find((file) => file.endsWith('overlay.yaml'));
    return await read({
      id,
      file: path,
      text: texts.get(path) ?? '',
      overlay: overlay === undefined ? undefined : { file: overlay, text: texts.get(overlay) ?? '' },
    });
  } catch (error) {
    // Too many imports wait: the next look reads it.
    if (error instanceof GatehouseError && error.code === 'unavailable') throw error;
    return { faults: [{ file: path, path: '', rule: `cannot be read: ${thrownMessage(error)}` }] };
  }
}

function connectorOf(
  { path }: Pick<FolderEntry, 'path'>,
  { head, text }: CachedDefinition,
  mapBounded: MapBounded,
): Connector {
  const hosting = {
    environments: ENVIRONMENTS,
    served: false,
    custom: true,
    mapBounded,
    recorded: recordedBeside(path),
  };
  return lazyConnector(head, hosting, text);
}
