import type { Action, Connector } from '../../connectors/catalog.ts';
import { hasNeeds, runsWith } from '../../connectors/needs.ts';
import type { Context } from '../context.ts';
import { connectedMeans } from '../../credentials/active-credentials.ts';
import type { LiveServer } from '../../servers/live-servers.ts';
import { memoByObject } from '../../lib/memo.ts';

/**
 * Returns the server as it is listed to a user: without the actions that none of the user's accounts can run, because
 * they need another scheme. Apps to which the user is not connected are listed whole.
 */
export async function offeredTo(
  context: Pick<Context, 'db' | 'catalog' | 'credentialMemory'>,
  live: LiveServer,
  userId: string | undefined,
): Promise<LiveServer> {
  if (userId === undefined) return live;
  const { environment } = live.server;
  const unable: Action[] = [];
  for (const [connectorId, means] of await connectedMeans(context, { environment, userId })) {
    const connector = context.catalog.connector(environment, connectorId);
    for (const action of connector ? actionsWithNeeds(connector) : []) {
      const isUnable = means.every((type) => !runsWith(action, type));
      if (isUnable && !live.decision.action(action)) unable.push(action);
    }
  }
  if (unable.length === 0) return live;
  const names = unable.map(({ connectorId, actionId }) => `${connectorId}.${actionId}`).toSorted();
  return { ...live, unable: new Set(unable), shape: `${live.shape} ${names.join(' ')}` };
}

/** Returns the actions that need a certain scheme. Cached, because every request needs them. */
const actionsWithNeeds = memoByObject((connector: Connector): readonly Action[] =>
  [...connector.actions.values()].filter(({ definition }) => hasNeeds(definition)),
);
