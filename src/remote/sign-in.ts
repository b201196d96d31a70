import { findOAuthApp, saveOAuthApp, type OAuthApp } from '../credentials/oauth-apps.ts';
import { changeConnector } from '../custom/custom-records.ts';
import type { ConnectorKey } from '../custom/custom-rows.ts';
import { makeFromSource } from '../custom/make.ts';
import { sourceOf } from '../custom/parts.ts';
import { DAY } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { asObject } from '../lib/json.ts';
import type { Tx } from '../store/schema.ts';
import type { OwnAddresses, RegisteredClient } from '../upstream/remote/discovery.ts';
import type { OAuthServer } from '../upstream/remote/oauth-metadata.ts';
import type { Context } from './context.ts';
import { saveRemote, type Remote } from './remote-rows.ts';
import { schemesOf } from './tools-file.ts';

/**
 * Moves the sign-in of a remote server to the OAuth server that its metadata name now, with a client of Gatehouse there.
 * Accounts and client of the OAuth server before are bound to it (connectors/origins.ts), so users connect again. Does
 * nothing while the issuer is the same. A failure is only logged, because the sign-in of before may still work.
 */
export async function followSignIn(context: Context, remote: Remote, caller: string): Promise<void> {
  const { key, settings } = remote;
  const { authentication } = settings;
  if (authentication.type !== 'oauth2') return;
  const { environment, connectorId } = key;
  try {
    const { clientAt, findOAuthServer } = await import('../upstream/remote/discovery.ts');
    const found = await findOAuthServer(context.outbound, settings.url, authentication.scopes);
    const { issuer } = found.server;
    // A server that fails may answer 404 for its metadata too.
    if (!found.isNamed || issuer === authentication.server.issuer) return;
    await storeSignIn(context, remote, {
      ...(await clientAt(context.outbound, found, ownAddresses(context, connectorId))),
      caller,
    });
    context.log.warn({ environment, connectorId, issuer }, 'remote server moved to another OAuth server');
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    context.log.warn({ err: error, environment, connectorId }, 'sign-in of a remote server not read');
  }
}

/**
 * Registers Gatehouse again at the OAuth server of a remote server whose secret ends within a day, whose client is missing
 * or `refused`, or whose client the server does not know any more. A client that the operator stored stays. Returns whether
 * there is another client now.
 */
export async function renewClient(
  context: Context,
  remote: Remote,
  { caller, refused }: { caller: string; refused?: string | undefined },
): Promise<boolean> {
  const { key, settings } = remote;
  const { authentication } = settings;
  if (authentication.type !== 'oauth2') return false;
  const app = await findOAuthApp(context, key.environment, key.connectorId);
  // Another process may have registered since.
  if (refused !== undefined && app && app.clientId !== refused) return true;
  if (app && !(await needsClient(context, remote, { app, refused }))) return false;
  const { clientAt, findOAuthServer } = await import('../upstream/remote/discovery.ts');
  const found = await findOAuthServer(context.outbound, settings.url, authentication.scopes);
  const own = ownAddresses(context, key.connectorId);
  const { server, client } = await clientAt(context.outbound, found, own);
  // The address of a metadata document is no client that can be registered.
  if (!client || client.clientId === app?.clientId) return false;
  const now = await findOAuthApp(context, key.environment, key.connectorId);
  if (now?.clientId !== app?.clientId) return true;
  await storeSignIn(context, remote, { server, client, caller });
  context.log.warn(
    { ...key, issuer: server.issuer },
    'registered again at the OAuth server of a remote server',
  );
  return true;
}

async function needsClient(
  context: Context,
  { key, settings: { authentication } }: Remote,
  { app, refused }: { app: OAuthApp; refused: string | undefined },
): Promise<boolean> {
  if (authentication.type !== 'oauth2') return false;
  const { client, server } = authentication;
  // The operator stored this client.
  if (client?.clientId !== app.clientId) return false;
  if (refused !== undefined) return true;
  if (client.secretEndsAt !== undefined && client.secretEndsAt - DAY <= context.clock.now()) return true;
  if (context.signInClients.isKnown(key)) return false;
  const { isClientRefused } = await import('../upstream/remote/client-check.ts');
  const { redirectUri } = ownAddresses(context, key.connectorId);
  const { clientId, clientSecret } = app;
  return isClientRefused(context.outbound, server, { clientId, clientSecret, redirectUri });
}

/**
 * Returns the sign-in of a connector with the metadata of its OAuth server now, where the client there still counts.
 * Tokens are bound to their client, so that another one would end them.
 */
export async function keptSignIn(
  context: Context,
  remote: Remote,
  found: Omit<OAuthServer, 'clientAuthentication'>,
): Promise<SignIn | undefined> {
  const { key, settings } = remote;
  const { authentication } = settings;
  if (authentication.type !== 'oauth2') return undefined;
  const { client, server } = authentication;
  if (found.issuer !== server.issuer || found.tokenUrl !== server.tokenUrl) return undefined;
  const app = await findOAuthApp(context, key.environment, key.connectorId);
  if (!app || (await needsClient(context, remote, { app, refused: undefined }))) return undefined;
  const { clientAuthentication } = server;
  return {
    server: { ...found, clientAuthentication },
    client: client && { ...client, clientSecret: undefined },
  };
}

/** Stores an OAuth server and the client there, in a version of the connector with the same tools. */
async function storeSignIn(
  context: Context,
  remote: Remote,
  { server, client, caller }: SignIn & { caller: string },
): Promise<void> {
  const { key, settings } = remote;
  const { scopes } = settings.authentication.type === 'oauth2' ? settings.authentication : {};
  const authentication = oauth2With({ server, client }, scopes);
  const changed = { ...remote, settings: { ...settings, authentication } };
  await changeConnector(context, key, {
    caller,
    remote: { save: (tx: Tx) => saveRemote(context, tx, changed) },
    // The tools are the same, and are read again with the first account of the OAuth server.
    make: (before) => {
      const source = {
        ...asObject(sourceOf(before?.source ?? '{}')),
        authentication: schemesOf(changed.settings),
      };
      return makeFromSource(context, key.environment, { id: key.connectorId, source, kind: 'mcp', before });
    },
  });
  await saveClient(context, key, client);
}

/** An OAuth server, and the client of Gatehouse there. */
interface SignIn {
  server: OAuthServer;
  client: RegisteredClient | undefined;
}

/** Returns the settings of a sign-in. */
export function oauth2With({ server, client }: SignIn, scopes: readonly string[] | undefined) {
  return {
    type: 'oauth2' as const,
    server,
    ...(scopes ? { scopes: [...scopes] } : {}),
    ...(client ? { client: ownFacts(client) } : {}),
  };
}

function ownFacts({ clientId, secretEndsAt }: RegisteredClient) {
  return { clientId, ...(secretEndsAt === undefined ? {} : { secretEndsAt }) };
}

/** Stores the client that Gatehouse has just registered at the OAuth server, once the connector exists. */
export async function saveClient(
  context: Context,
  key: ConnectorKey,
  client: RegisteredClient | undefined,
): Promise<void> {
  if (!client) return;
  await saveOAuthApp(context, key, client);
  context.signInClients.noteKnown(key);
}

/** Returns the addresses that the sign-in of a connector uses. */
export function ownAddresses(
  { publicUrl, config }: Pick<Context, 'publicUrl' | 'config'>,
  connectorId: string,
): OwnAddresses {
  return {
    publicUrl,
    redirectUri: `${publicUrl}/oauth/callback/${connectorId}`,
    clientMetadataUrl: config.clientMetadataUrl ?? `${publicUrl}/oauth/clients/${connectorId}`,
  };
}
