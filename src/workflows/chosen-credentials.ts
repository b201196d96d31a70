import { chooseCredential } from '../credentials/choose.ts';
import type { Credential } from '../credentials/credential.ts';
import { findCredential } from '../credentials/credential-records.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import type { Environment } from '../store/environments.ts';
import type { DbOrTx } from '../store/schema.ts';
import type { Context } from './context.ts';
import { connectorsOf, type Definition } from './workflow-definition.ts';

/**
 * Returns the credential of each connector in a definition: the named one, else the user's single active one.
 * @throws GatehouseError `credential_not_found` for another user's, `credential_required`, `credential_ambiguous`,
 * `credential_invalid`; `invalid_request` for a connector that the workflow does not use.
 */
export async function chosenCredentials(
  db: DbOrTx,
  { catalog }: Pick<Context, 'catalog'>,
  {
    owner: { environment, userId },
    definition,
    named,
    stored = {},
    namedBy,
  }: {
    owner: { environment: Environment; userId: string };
    definition: Definition;
    named: Record<string, string>;
    stored?: Record<string, string>;
    /** How a caller names an account, where the request has no member `credentials`. */
    namedBy?: string;
  },
): Promise<Map<string, Credential>> {
  const connectors = connectorsOf(definition);
  const faults = Object.keys(named)
    .filter((connectorId) => !connectors.includes(connectorId))
    .map((connectorId) => ({
      field: `credentials.${connectorId.slice(0, 64)}`,
      rule: `is no connector of this workflow; it has: ${connectors.join(', ') || 'none'}`,
    }));
  if (faults.length > 0) throw invalidRequest(faults, 'The body');
  const chosen = new Map<string, Credential>();
  for (const connectorId of connectors) {
    const connector = catalog.connector(environment, connectorId);
    if (!connector) {
      throw new GatehouseError(
        'connector_not_found',
        `There is no connector "${connectorId}" any more, which this workflow needs.`,
      );
    }
    const argument = named[connectorId];
    const kept = argument === undefined ? stored[connectorId] : undefined;
    // A credential that needs to be reconnected stays chosen, because its owner reconnects it under the same id.
    const credential =
      (kept === undefined
        ? undefined
        : await findCredential(db, { environment, userId, credentialId: kept })) ??
      (await chooseCredential(
        { db },
        {
          environment,
          userId,
          connector,
          argument,
          namedBy: namedBy ?? `credentials: {"${connectorId}": "<credentialId>"}`,
        },
      ));
    if (credential) chosen.set(connectorId, credential);
  }
  return chosen;
}

export function idsOf(credentials: ReadonlyMap<string, Credential>): string {
  return JSON.stringify(Object.fromEntries([...credentials].map(([id, one]) => [id, one.credentialId])));
}
