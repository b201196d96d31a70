import type { Action, Catalog } from '../../connectors/catalog.ts';
import { hasNeeds, lackOf } from '../../connectors/needs.ts';
import type { Base } from '../../base.ts';
import { connectedMeans } from '../../credentials/choices.ts';
import type { LiveServer } from '../../servers/live.ts';
import type { Environment } from '../../store/environments.ts';

/**
 * Returns the server as it is listed to a user: without the actions that none of the user's accounts can run, because
 * they need another scheme or more scopes. Apps to which the user is not connected are listed whole.
 */
export async function offeredTo(
  { db, catalog }: Pick<Base, 'db' | 'catalog'>,
  live: LiveServer,
  userId: string | undefined,
): Promise<LiveServer> {
  const { environment } = live.server;
  const needy = actionsWithNeeds(catalog, environment);
  if (userId === undefined || needy.length === 0) return live;
  const connected = await connectedMeans(db, { environment, userId });
  const unable = needy.filter((action) => {
    const means = connected.get(action.connectorId);
    return means?.every((one) => lackOf(action, one) !== undefined) && !live.decision.action(action);
  });
  if (unable.length === 0) return live;
  const names = unable.map(({ connectorId, actionId }) => `${connectorId}.${actionId}`);
  return { ...live, unable: new Set(unable), shape: `${live.shape} ${names.join(' ')}` };
}

interface Found {
  version: number;
  actions: readonly Action[];
}
const found = new WeakMap<Catalog, Map<Environment, Found>>();

/**
 * Returns the actions that need a scheme or scopes. Cached per version of the catalogue, because every request needs
 * them.
 */
function actionsWithNeeds(catalog: Catalog, environment: Environment): readonly Action[] {
  const byEnvironment = found.get(catalog) ?? new Map<Environment, Found>();
  found.set(catalog, byEnvironment);
  const known = byEnvironment.get(environment);
  if (known?.version === catalog.version) return known.actions;
  const actions = catalog
    .connectors(environment)
    .flatMap((connector) => [...connector.actions.values()])
    .filter(({ definition }) => hasNeeds(definition));
  byEnvironment.set(environment, { version: catalog.version, actions });
  return actions;
}
