import type { Connector } from '../connectors/catalog.ts';
import type { Base } from '../base.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Credential } from './credential.ts';
import { requireOAuthClient } from './oauth-apps.ts';
import { OAuthRefusal, revokeTokens } from './oauth.ts';
import { assertOrigins, openValues } from './sealed-values.ts';

/**
 * Revokes the tokens of a credential (or those in `values`) where its connector supports it, within 5 s.
 * A failure is only logged.
 */
export async function endTokens(
  context: Pick<Base, 'db' | 'keys' | 'catalog' | 'outbound' | 'log'>,
  connector: Connector,
  { credential, values }: { credential: Credential; values?: Record<string, string> | undefined },
): Promise<void> {
  const scheme = connector.definition.authentication.find(({ type }) => type === credential.type);
  if (scheme?.type !== 'oauth2' || !scheme.revocation) return;
  const facts = { credentialId: credential.credentialId, connectorId: connector.connectorId };
  try {
    assertOrigins(connector, credential);
    const client = await requireOAuthClient(context, credential.environment, connector);
    const tokens = values ?? openValues(context, credential);
    await revokeTokens(context, { connector, scheme, client, values: tokens });
    context.log.info({ ...facts, revoked: true }, 'tokens revoked at the third party');
  } catch (error) {
    const why =
      error instanceof OAuthRefusal
        ? { error: error.error, status: error.status }
        : error instanceof GatehouseError
          ? { code: error.code, details: error.details }
          : { err: error };
    context.log.warn({ ...facts, revoked: false, ...why }, 'tokens not revoked at the third party');
  }
}
