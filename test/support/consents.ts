import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CATALOG_FOLDER } from '../../src/package.ts';
import { valueAt } from '../../src/lib/json.ts';
import { createBrowser, type Browser } from './browser.ts';
import { startService, type Answer, type Service, type ServiceOptions } from './service.ts';
import { CLIENT, oauthDefinition, startTokenServer, type TokenServer } from './token-server.ts';

/**
 * A Gatehouse with the app `oauthy`, whose token endpoint follows the test. Its consents need no page: the test
 * returns the result that it needs. It also has `keyed`, the same app by a bearer token, `queried`, which puts
 * everything into addresses, and others by their files.
 */
export interface Consents extends AsyncDisposable {
  readonly service: Service;
  readonly party: TokenServer;
  readonly userId: string;
  /** Makes a link for the user by REST. */
  link(wish?: object): Promise<string>;
  /** Opens a link in a browser. */
  open(browser: Browser, link: string): Promise<{ sessionId: string }>;
  /** Goes to the consent page in a new browser. */
  begin(
    connectorId?: string,
  ): Promise<{ browser: Browser; sessionId: string; authorizationUrl: string; state: string }>;
  /** Returns the address that the browser is redirected to when the app sends it back with these parameters. */
  back(browser: Browser, params: Record<string, string>, connectorId?: string): Promise<URL>;
  /** Calls REST for the user. */
  call(method: string, path: string, body?: unknown): Promise<Answer>;
}

export async function startConsents(
  options: ServiceOptions & { connectors?: readonly string[]; files?: Record<string, object> } = {},
): Promise<Consents> {
  const party = await startTokenServer();
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-consents-'));
  for (const id of ['sandbox', ...(options.connectors ?? [])])
    cpSync(join(CATALOG_FOLDER, id), join(folder, id), { recursive: true });
  const oauthy = oauthDefinition(party.origin);
  const queried = {
    ...oauthDefinition(party.origin, {
      tokenRequest: 'query',
      clientAuthentication: 'basic',
      revocation: { url: `${party.origin}/{token}/revoke`, method: 'DELETE', request: 'query' },
    }),
    id: 'queried',
    name: 'Queried',
  };
  const keyed = { ...oauthy, id: 'keyed', name: 'Keyed', authentication: [{ type: 'bearer' }] };
  for (const [id, file] of Object.entries({ oauthy, queried, keyed, ...options.files })) {
    mkdirSync(join(folder, id));
    writeFileSync(join(folder, id, 'connector.yaml'), JSON.stringify(file));
  }
  const service = await startService({ ...options, catalogFolder: folder });
  for (const id of ['oauthy', 'queried'])
    await service.call('PUT', `/api/connectors/${id}/oauth-app`, { body: CLIENT });
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');

  const link: Consents['link'] = async (wish = { connectors: ['oauthy'] }) =>
    (await service.call('POST', `/users/${userId}/connect-sessions`, { body: wish })).text('url');
  const open: Consents['open'] = async (browser, address) => {
    const opened = await browser.request(`${address}/open`, {});
    return { sessionId: String(valueAt(opened.body, 'sessionId')) };
  };
  return {
    service,
    party,
    userId,
    link,
    open,
    async begin(connectorId = 'oauthy') {
      const browser = createBrowser();
      const { sessionId } = await open(browser, await link({ connectors: [connectorId] }));
      const address = `${service.url}/connect/sessions/${sessionId}/authorize`;
      const asked = await browser.request(address, { connectorId, type: 'oauth2', data: {} });
      const authorizationUrl = String(valueAt(asked.body, 'authorizationUrl'));
      const state = new URL(authorizationUrl).searchParams.get('state') ?? '';
      return { browser, sessionId, authorizationUrl, state };
    },
    async back(browser, params, connectorId = 'oauthy') {
      const address = `${service.url}/oauth/callback/${connectorId}?${new URLSearchParams(params)}`;
      const { headers } = await browser.open(address, { stay: true });
      return new URL(headers.get('location') ?? 'about:blank');
    },
    call: (method, path, body) =>
      service.call(method, path, {
        headers: { 'x-svc-userid': userId },
        ...(body === undefined ? {} : { body }),
      }),
    async [Symbol.asyncDispose]() {
      await service.stop();
      await party[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
