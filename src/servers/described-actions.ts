import type { Catalog } from '../connectors/catalog.ts';
import { withPauses } from '../lib/pauses.ts';
import type { Environment } from '../store/environments.ts';
import type { Decision } from './restrictions.ts';

/**
 * Computes what lists show of the actions that a server allows: their schemas and hashes, which are then cached. For
 * whole public APIs this takes seconds, so other requests are served in between.
 */
export async function describeActions(
  catalog: Catalog,
  { environment, decision }: { environment: Environment; decision: Decision },
): Promise<void> {
  for (const { connectorId, actions } of catalog.connectors(environment)) {
    if (decision.connector(connectorId)) continue;
    for await (const action of withPauses(actions.values())) {
      if (decision.action(action)) continue;
      void action.modelInput;
      void action.hash;
    }
  }
}
