import { executeAction } from '../../src/actions/execute.ts';
import type { Connector } from '../../src/connectors/catalog.ts';
import { saveOAuthApp } from '../../src/credentials/oauth-apps.ts';
import type { Credential } from '../../src/credentials/credential.ts';
import { createCredential } from '../../src/credentials/credential-records.ts';
import { openActions, type ActionBench } from './actions.ts';
import type { StoreKind } from './stores.ts';
import { CLIENT, oauthCatalog, startTokenServer, type TokenServer } from './token-server.ts';

/** A bench whose connector `oauthy` uses a token server, with its OAuth app. */
export interface OAuthBench extends ActionBench {
  readonly party: TokenServer;
  readonly connector: Connector;
  /** Imports a live account, as an operator does when migrating from another service. */
  connect(changes?: Record<string, string>): Promise<Credential>;
  /** Opens the same again over the same database, as another process does. */
  another(): Promise<OAuthBench>;
  row(credentialId: string): Promise<{
    state: string;
    reason: string | null;
    version: number;
    refresh_failures: number;
    refresh_after: number | null;
    lease_token: string | null;
  }>;
}

export async function openOAuth(
  kind: StoreKind = 'sqlite',
  scheme: Record<string, unknown> = {},
): Promise<OAuthBench> {
  const party = await startTokenServer();
  const first = await openActions(kind);
  const bench = dressed(first, party, scheme);
  await saveOAuthApp(bench, { environment: 'development', connectorId: 'oauthy' }, CLIENT);
  return {
    ...bench,
    async [Symbol.asyncDispose]() {
      await first[Symbol.asyncDispose]();
      await party[Symbol.asyncDispose]();
    },
  };
}

function dressed(bench: ActionBench, party: TokenServer, scheme: Record<string, unknown>): OAuthBench {
  const catalog = oauthCatalog(party.origin, scheme);
  const connector = catalog.connector('development', 'oauthy');
  if (!connector) throw new Error('no connector');
  const whole = { ...bench, catalog, party, connector };
  return {
    ...whole,
    connect(changes = {}) {
      const expiresAt = new Date(bench.clock.now() + 3_600_000).toISOString();
      const data = { ...party.issue(), expiresAt, ...changes };
      const { userId } = bench;
      return createCredential(whole, {
        environment: 'development',
        userId,
        connectorId: 'oauthy',
        type: 'oauth2',
        data,
      });
    },
    another: async () => dressed(await bench.again(), party, scheme),
    row: (credentialId) =>
      bench.db
        .selectFrom('credentials')
        .select(['state', 'reason', 'version', 'refresh_failures', 'refresh_after', 'lease_token'])
        .where('credential_id', '=', credentialId)
        .executeTakeFirstOrThrow(),
  };
}

export const credentialKey = (bench: OAuthBench, credentialId: string) => ({
  environment: 'development' as const,
  userId: bench.userId,
  credentialId,
});
export const runAction = (bench: OAuthBench, changes: Record<string, unknown> = {}) =>
  executeAction(bench, {
    environment: 'development',
    caller: 'key:k1',
    requestId: 'req_1',
    userId: bench.userId,
    connectorId: 'oauthy',
    actionId: 'get_me',
    input: {},
    ...changes,
  });
