import type { Action, Connector } from '../connectors/catalog.ts';
import type { Base } from '../base.ts';
import { STALE_MS } from '../identity/caller.ts';
import { createTtlCache } from '../lib/ttl-cache.ts';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';
import { ensureBaseline, hashesIn, keyOf, othersOf, type DefinitionName } from './approvals.ts';
import { sha256 } from '../lib/sha256.ts';

/** The filter of servers with `pinTools`: only definitions that equal the approved ones pass. */
export interface Pins {
  action(action: Action): boolean;
  /** Checks a prompt, a resource, or the connector's own texts. */
  other(connector: Connector, name: Omit<DefinitionName, 'connectorId' | 'actionId'>): boolean;
  /** Changes with every approval. */
  version: string;
}

/** Limit of cached approvals: those of each environment, before and after a change of the catalogue. */
const MAX_CACHED = 2 * ENVIRONMENTS.length;

/** Creates the reader of the approved definitions of an environment, at most STALE_MS old. */
export function createLivePins(context: Pick<Base, 'db' | 'clock' | 'catalog'>) {
  const cached = createTtlCache<Pins>({ ttlMs: STALE_MS, max: MAX_CACHED, clock: context.clock });
  return {
    of: (environment: Environment) =>
      cached.get(`${environment} ${context.catalog.version}`, () => load(context, environment)),
    forget: () => cached.clear(),
  };
}

async function load(
  context: Pick<Base, 'db' | 'clock' | 'catalog'>,
  environment: Environment,
): Promise<Pins> {
  await ensureBaseline(context, environment);
  const rows = await context.db
    .selectFrom('approved_definitions')
    .select(['connector_id', 'fingerprint', 'version'])
    .where('environment', '=', environment)
    .orderBy('connector_id')
    .execute();
  const approved = new Map(rows.map((row) => [row.connector_id, row.fingerprint]));
  // Compared at each use, because a custom connector may change while a request holds these pins.
  const isSame = (connectorId: string) => {
    const connector = context.catalog.connector(environment, connectorId);
    return connector !== undefined && connector.fingerprint === approved.get(connectorId);
  };
  // Most connectors equal their approval, so hashes are read only for the others.
  const others = [...approved.keys()].filter((connectorId) => !isSame(connectorId));
  const hashes = new Map<string, Map<string, string>>();
  if (others.length > 0) {
    const found = await context.db
      .selectFrom('approved_definitions')
      .select(['connector_id', 'hashes'])
      .where('environment', '=', environment)
      .where('connector_id', 'in', others)
      .execute();
    for (const row of found) hashes.set(row.connector_id, hashesIn(row.hashes));
  }
  return {
    version: sha256(JSON.stringify(rows.map((row) => [row.connector_id, row.fingerprint, row.version]))),
    action: (action) =>
      isSame(action.connectorId) || hashes.get(action.connectorId)?.get(keyOf(action)) === action.hash,
    other(connector, name) {
      const { connectorId } = connector;
      if (isSame(connectorId)) return true;
      const key = keyOf({ connectorId, ...name });
      const now = othersOf(connector).get(key);
      return now !== undefined && hashes.get(connectorId)?.get(key) === now.hash;
    },
  };
}
