import type { Connector } from '../connectors/catalog.ts';
import type { Base } from '../base.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Environment } from '../store/environments.ts';
import type { Credential } from './credential.ts';
import { requireOAuthClient } from './oauth-apps.ts';
import type { OAuth2 } from './oauth-client.ts';
import { OAuthRefusal, revokeTokens } from './oauth.ts';
import { assertOrigins, openValues } from './sealed-values.ts';

type EndContext = Pick<Base, 'db' | 'keys' | 'catalog' | 'outbound' | 'log'>;

/** Tokens to revoke, with their owner. */
interface Ended {
  environment: Environment;
  userId: string;
  connector: Connector;
  scheme: OAuth2;
  /** Returns the values with the tokens. May throw; the tokens are then not revoked. */
  values(): Record<string, string>;
  /** Facts for the log. */
  facts: Record<string, unknown>;
}

/**
 * Revokes the tokens of a credential (or those in `values`) where its connector supports it, within 5 s.
 * A failure is only logged.
 */
export async function endTokens(
  context: EndContext,
  connector: Connector,
  { credential, values }: { credential: Credential; values?: Record<string, string> | undefined },
): Promise<void> {
  const { environment, userId, credentialId, type } = credential;
  const scheme = connector.definition.authentication.find((one) => one.type === type);
  if (scheme?.type !== 'oauth2') return;
  await endValues(context, {
    environment,
    userId,
    connector,
    scheme,
    values() {
      assertOrigins(connector, credential);
      return values ?? openValues(context, credential);
    },
    facts: { credentialId },
  });
}

/**
 * Revokes tokens as endTokens(). Some apps end all access of a person with one token, so tokens of a consent for
 * several accounts stay while the user has another account of it.
 */
export async function endValues(context: EndContext, ended: Ended): Promise<void> {
  const { environment, connector, scheme } = ended;
  if (!scheme.revocation) return;
  const facts = { ...ended.facts, connectorId: connector.connectorId };
  try {
    if (scheme.lookup?.choose && (await hasAccount(context, ended))) {
      context.log.info(
        { ...facts, revoked: false },
        'tokens not revoked, because another account needs them',
      );
      return;
    }
    const values = ended.values();
    const client = await requireOAuthClient(context, environment, connector);
    await revokeTokens(context, { connector, scheme, client, values });
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

async function hasAccount({ db }: EndContext, { environment, userId, connector }: Ended): Promise<boolean> {
  const found = await db
    .selectFrom('credentials')
    .select('credential_id')
    .where('user_id', '=', userId)
    .where('environment', '=', environment)
    .where('connector_id', '=', connector.connectorId)
    .where('type', '=', 'oauth2')
    .where('state', '=', 'active')
    .executeTakeFirst();
  return found !== undefined;
}
