import { readConfig } from '../../config.ts';
import type { ChangeableCatalog } from '../../connectors/catalog.ts';
import type { OpenContext } from '../../context.ts';
import { listStored } from '../../custom/custom-rows.ts';
import type { Environment } from '../../store/environments.ts';
import { openStarted } from '../started.ts';
import { tableOf, textOf, type Column } from '../table.ts';

/** A connector as the command prints it. */
interface Listed {
  connectorId: string;
  name: string;
  place: 'shipped' | 'folder' | 'store';
  /** Number of the stored version; null elsewhere. */
  version: number | null;
  /** Number of its actions; null for one that is not used. */
  actions: number | null;
  /** Place of the connector of its id that is used instead; null when there is none. */
  hiddenBy: 'shipped' | 'folder' | null;
}

const PAGE = 50;

/** Runs `gatehouse connectors list`: prints the connectors of an environment and where each comes from. */
export async function listConnectors(environment: Environment, { json }: { json: boolean }): Promise<number> {
  const context = await openStarted(readConfig());
  try {
    const connectors = await connectorsOf(context, environment);
    if (json)
      process.stdout.write(`${JSON.stringify({ data: connectors, pagination: { hasMore: false } })}\n`);
    else process.stdout.write(tableOf(COLUMNS, connectors));
    return 0;
  } finally {
    await context.close();
  }
}

async function connectorsOf({ catalog, db }: OpenContext, environment: Environment): Promise<Listed[]> {
  const stored = await storedOf(db, environment);
  const versions = new Map(stored.map(({ connectorId, version }) => [connectorId, version]));
  const used = catalog.connectors(environment).map(({ connectorId, name, actions }): Listed => {
    const place = placeOf(catalog, connectorId);
    const version = place === 'store' ? (versions.get(connectorId) ?? null) : null;
    return { connectorId, name, place, version, actions: actions.size, hiddenBy: null };
  });
  const hidden = stored.flatMap(({ connectorId, head, version }): Listed[] => {
    const hiddenBy = catalog.holderOf(connectorId) ?? null;
    return hiddenBy
      ? [{ connectorId, name: head.name, place: 'store', version, actions: null, hiddenBy }]
      : [];
  });
  return [...used, ...hidden].toSorted((a, b) => (a.connectorId < b.connectorId ? -1 : 1));
}

async function storedOf(db: OpenContext['db'], environment: Environment) {
  const all = [];
  for (let offset = 0; ; offset += PAGE) {
    const { connectors, hasMore } = await listStored(db, environment, { limit: PAGE, offset });
    all.push(...connectors);
    if (!hasMore) return all;
  }
}

function placeOf(catalog: ChangeableCatalog, connectorId: string): Listed['place'] {
  return catalog.holderOf(connectorId) ?? 'store';
}

const COLUMNS: readonly Column<Listed>[] = [
  ['connector', ({ connectorId }) => connectorId],
  ['name', ({ name }) => name],
  ['place', ({ place }) => place],
  ['version', ({ version }) => textOf(version)],
  ['actions', ({ actions }) => textOf(actions)],
  ['hidden by', ({ hiddenBy }) => textOf(hiddenBy)],
];
