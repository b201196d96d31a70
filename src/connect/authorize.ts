import { type Connector, SANDBOX_ID } from '../connectors/catalog.ts';
import { bindingOf } from '../connectors/origins.ts';
import type { Context } from './context.ts';
import type { Base } from '../base.ts';
import { hashToken, newRandomToken } from '../crypto/tokens.ts';
import { requireOAuthClient } from '../credentials/oauth-apps.ts';
import { authorizationUrl, newVerifier } from '../credentials/oauth.ts';
import { checkEntered } from '../credentials/derived.ts';
import { endUnchosen } from '../credentials/unchosen-grants.ts';
import { MINUTE } from '../lib/clock.ts';
import { invalidRequest } from '../lib/errors.ts';
import { chosenScheme, appFieldFaults } from './apps.ts';
import { assertLive, LIVE, prefillOf, type ConnectSession } from './connect-sessions.ts';
import type { Submission } from './submit.ts';
import { SANDBOX_HOST } from '../lib/sandbox-names.ts';
import { boundTo } from '../store/sealed-columns.ts';

/** Lifetime of a state (RFC 9700 requires short-lived, single-use state). */
const STATE_MS = 10 * MINUTE;

/** Returns the redirect address of a connector. Each connector has its own, so that answers cannot be mixed up. */
export function callbackUrl({ publicUrl }: Pick<Base, 'publicUrl'>, connector: Connector): string {
  return `${publicUrl}/oauth/callback/${connector.connectorId}`;
}

/**
 * Begins a consent and returns the address of the app's consent page. The state is single-use, stored hashed and
 * valid for ten minutes. It is bound to session, connector and PKCE verifier. A newer state of the same session
 * replaces it, and ends a choice among accounts.
 * @throws GatehouseError `connect_session_expired`, `connector_not_found`, `oauth_app_missing`, `invalid_request`
 * with every fault by field.
 */
export async function beginAuthorization(
  context: Context,
  session: ConnectSession,
  { connectorId, type, data }: Submission,
): Promise<string> {
  await assertLive(context, session);
  const { connector, scheme } = chosenScheme(context, session, { connectorId, type });
  if (scheme.type !== 'oauth2')
    throw invalidRequest([{ field: 'type', rule: 'is connected by keys, not by signing in' }]);
  await context.signInClients.beforeSignIn({ environment: session.environment, connectorId });
  const client = await requireOAuthClient(context, session.environment, connector);
  const { values, faults } = checkEntered(connector, scheme, {
    data: { ...client.fields, ...data, ...prefillOf(context, session) },
  });
  faults.push(...appFieldFaults(client, values));
  if (faults.length > 0) throw invalidRequest(faults, 'The form');

  const state = newRandomToken();
  const verifier = newVerifier();
  const stateHash = hashToken(context.hashKey, state);
  const now = context.clock.now();
  const address = await authorizationUrl({
    connector,
    scheme,
    client,
    values,
    redirectUri: callbackUrl(context, connector),
    state,
    verifier,
    moreScopes: session.scopes,
  });
  await context.db.transaction().execute(async (tx) => {
    await tx.deleteFrom('oauth_states').where('session_id', '=', session.sessionId).execute();
    await tx
      .insertInto('oauth_states')
      .values({
        state_hash: stateHash,
        session_id: session.sessionId,
        connector_id: connectorId,
        type: scheme.type,
        sealed: context.keys.sealJson(
          { verifier, values, origins: bindingOf(connector) },
          boundTo('oauth_states.sealed', { state_hash: stateHash }),
        ),
        expires_at: now + STATE_MS,
        created_at: now,
      })
      .execute();
    await tx
      .updateTable('connect_sessions')
      .set({ status: 'authorizing', expires_at: now + STATE_MS, updated_at: now })
      .where('session_id', '=', session.sessionId)
      .where('status', 'in', LIVE)
      .execute();
  });
  // The older tokens are revoked before the person consents again, because some apps then also end newer ones.
  await endUnchosen(context, session.sessionId);
  return browserAddress(context, connector, address);
}

/**
 * Returns the address at which a person's browser reaches a connector. Only the built-in sandbox differs from its
 * file. The file names a host that does not exist; outbound/outbound.ts maps it to our own port. Browsers reach it at the
 * public address of this process.
 */
function browserAddress(
  { publicUrl }: Pick<Base, 'publicUrl'>,
  { connectorId }: Pick<Connector, 'connectorId'>,
  url: string,
): string {
  if (connectorId !== SANDBOX_ID) return url;
  const { protocol, host, pathname, search } = new URL(url);
  return protocol === 'http:' && host === SANDBOX_HOST ? publicUrl + pathname + search : url;
}
