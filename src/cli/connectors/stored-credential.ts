import type { Recording } from '../../author/example-record.ts';
import { readConfig } from '../../config.ts';
import type { Connector } from '../../connectors/catalog.ts';
import { storedFields } from '../../credentials/fields.ts';
import { requireConnection } from '../../credentials/credential-records.ts';
import { freshCredential } from '../../credentials/refresh.ts';
import { assertOrigins, openCredential } from '../../credentials/sealed-values.ts';
import type { Environment } from '../../store/environments.ts';
import { CommandError } from '../faults.ts';
import { openStarted } from '../started.ts';

/**
 * Returns a credential of the store with tokens that are valid now, as the fields of an example. The master key of the
 * configuration opens it, so only the operator can use it.
 * @throws CommandError for one of another connector; GatehouseError `credential_not_found`, `credential_invalid` where
 * the file sends it to another origin than it was connected for.
 */
export async function storedCredential(
  connector: Connector,
  { environment, credentialId }: { environment: Environment; credentialId: string },
): Promise<Pick<Recording, 'authentication' | 'credential'>> {
  const context = await openStarted(readConfig());
  try {
    const stored = await requireConnection(context.db, { environment, credentialId });
    if (stored.connectorId !== connector.connectorId)
      throw new CommandError(`${credentialId} is a credential of ${stored.connectorId}.`);
    assertOrigins(connector, stored);
    const credential = await freshCredential(context, connector, { credential: stored });
    const { scheme, values } = openCredential(context, connector, credential);
    const known = storedFields(connector, scheme);
    const fields = Object.entries(values).filter(([name]) => known.has(name));
    return {
      authentication: scheme.type,
      credential: Object.fromEntries(fields.map(([name, value]) => [name, value.open()])),
    };
  } finally {
    await context.close();
  }
}
