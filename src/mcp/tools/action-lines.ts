import type { Action, Connector } from '../../connectors/catalog.ts';
import { connectedMeans } from '../../credentials/active-credentials.ts';
import type { Connected } from '../../credentials/memory.ts';
import type { JsonObject } from '../../lib/json.ts';
import { exampleInput } from './example.ts';
import type { ToolScope } from '../scope/tool.ts';

/* Parts of the answers about actions, which several tools share. */

export function connectorOf({ context, grant }: ToolScope, action: Action): Connector | undefined {
  return context.catalog.connector(grant.environment, action.connectorId);
}

export async function connectedTo({ context, grant }: ToolScope): Promise<Connected> {
  const { environment, userId } = grant;
  return userId === undefined ? new Set() : await connectedMeans(context, { environment, userId });
}

export function isConnected(connector: Connector | undefined, connected: Connected): boolean {
  if (!connector) return false;
  const free = connector.definition.authentication.some(({ type }) => type === 'none');
  return free || connected.has(connector.connectorId);
}

export function lineOf({ actionId, name, description, effect, list }: Action) {
  const [line = ''] = description.split('\n');
  return { actionId, name, description: line, effect, list };
}

const NO_EXAMPLE = 'No example is known. Choose the parameters by inputSchema.';

/** Returns an example call. An action without a valid example gets none. */
export function exampleIn(scope: ToolScope, action: Action): JsonObject {
  const { connectorId, actionId } = action;
  const connector = connectorOf(scope, action);
  try {
    const parameters = connector && exampleInput(action, connector);
    return parameters ? { example: { connectorId, actionId, parameters } } : { noExample: NO_EXAMPLE };
  } catch (err) {
    scope.context.log.error(
      { requestId: scope.requestId, connectorId, actionId, err },
      'schema is unreadable',
    );
    return {};
  }
}
