import { saveOAuthApp } from '../credentials/oauth-apps.ts';
import { changeConnector } from '../custom/custom-records.ts';
import type { ConnectorKey } from '../custom/custom-rows.ts';
import { makeFromSource } from '../custom/make.ts';
import { sourceOf } from '../custom/parts.ts';
import { GatehouseError } from '../lib/errors.ts';
import { asObject } from '../lib/json.ts';
import type { Tx } from '../store/schema.ts';
import type { OwnAddresses, RegisteredClient } from '../upstream/remote/discovery.ts';
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
    const { server, client } = await clientAt(context.outbound, found, ownAddresses(context, connectorId));
    const moved = { ...remote, settings: { ...settings, authentication: { ...authentication, server } } };
    await changeConnector(context, key, {
      caller,
      remote: { save: (tx: Tx) => saveRemote(context, tx, moved) },
      // The tools are the same, and are read again with the first account of the new OAuth server.
      make: (before) => {
        const source = {
          ...asObject(sourceOf(before?.source ?? '{}')),
          authentication: schemesOf(moved.settings),
        };
        return makeFromSource(context, environment, { id: connectorId, source, kind: 'mcp', before });
      },
    });
    await saveClient(context, key, client);
    context.log.warn({ environment, connectorId, issuer }, 'remote server moved to another OAuth server');
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    context.log.warn({ err: error, environment, connectorId }, 'sign-in of a remote server not read');
  }
}

/** Stores the client of Gatehouse at the OAuth server, once the connector exists. */
export async function saveClient(
  context: Context,
  key: ConnectorKey,
  client: RegisteredClient | undefined,
): Promise<void> {
  if (client) await saveOAuthApp(context, key, client);
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
