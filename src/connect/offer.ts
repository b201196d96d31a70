import { unservedNote } from './presence.ts';
import type { Context } from './context.ts';
import { requireOAuthClient } from '../credentials/oauth-apps.ts';
import { GatehouseError } from '../lib/errors.ts';
import { assertRedirectAllowed, readSettings } from '../servers/environment-settings.ts';
import { appsOf } from './apps.ts';
import { createSession, type NewSession } from './connect-sessions.ts';

/** The input for a link. makeLink() checks its `redirectUri`. */
export type LinkInput = Omit<NewSession, 'via'>;

/**
 * Creates a link that connects an account, and returns its address and its expiry, epoch ms.
 * @throws GatehouseError `redirect_not_allowed`, `oauth_app_missing` when none of the offered apps can be connected.
 */
export async function makeLink(
  context: Context,
  options: LinkInput,
): Promise<{ sessionId: string; url: string; expiresAt: number }> {
  if (options.redirectUri !== undefined) {
    const settings = await readSettings(context.db, options.environment);
    assertRedirectAllowed(settings, options.environment, options.redirectUri);
  }
  await assertReady(context, options);
  const { session, link } = await createSession(context, { ...options, via: 'link' });
  return { sessionId: session.sessionId, url: link, expiresAt: session.expiresAt };
}

/**
 * Adds a link to the error of a call that lacks an account: `details.connectUrl` for `credential_required`,
 * `details.reconnectUrl` for `credential_invalid`, and for a refusal of the app that scopes explain. A reconnect asks
 * for these scopes too. Returns other errors unchanged.
 */
export async function withLink(
  context: Context,
  error: unknown,
  {
    environment,
    userId,
    connectorId,
    redirectUri,
  }: Pick<LinkInput, 'environment' | 'redirectUri'> & {
    userId: string | undefined;
    connectorId: string;
  },
): Promise<unknown> {
  if (!(error instanceof GatehouseError) || userId === undefined) return error;
  const scopes = scopesIn(error);
  const lacksScopes = error.code === 'upstream_rejected' && scopes !== undefined;
  const broken =
    error.code === 'credential_invalid' || lacksScopes ? error.details?.['credentialId'] : undefined;
  const credentialId = typeof broken === 'string' ? broken : undefined;
  if (error.code !== 'credential_required' && credentialId === undefined) return error;
  const options = { environment, userId, connectors: [connectorId], credentialId, redirectUri };
  const type = lacksScopes ? 'oauth2' : undefined;
  const made = await makeLink(context, { ...options, scopes, type }).catch((thrown: unknown) => {
    // The refusal of a call that was made stays the answer where no sign-in can be offered.
    if (lacksScopes && thrown instanceof GatehouseError) return undefined;
    throw thrown;
  });
  if (!made) return error;
  const { url, sessionId } = made;
  const link = credentialId === undefined ? { connectUrl: url } : { reconnectUrl: url };
  return withDetails(error, { ...link, sessionId }, await unservedNote(context));
}

/** Returns the scopes that the account of an error lacks. */
function scopesIn({ details }: GatehouseError): string[] | undefined {
  const scopes = details?.['scopes'];
  return Array.isArray(scopes) ? scopes.filter((one) => typeof one === 'string') : undefined;
}

async function assertReady(context: Context, options: LinkInput): Promise<void> {
  const { environment, connectors = null, type = null } = options;
  if (connectors === null) return;
  const apps = await appsOf(context, { environment, connectors, type });
  const ways = apps.flatMap(({ authentication }) => authentication);
  if (ways.length === 0 || ways.some(({ ready }) => ready)) return;
  const first = context.catalog.connector(environment, connectors[0] ?? '');
  if (first) await requireOAuthClient(context, environment, first);
}

function withDetails(
  error: GatehouseError,
  details: Record<string, unknown>,
  note: string | undefined,
): GatehouseError {
  return new GatehouseError(error.code, note === undefined ? error.message : `${error.message} ${note}`, {
    details: { ...error.details, ...details },
    headers: error.headers,
    fix: error.fix,
    cause: error,
  });
}
