import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { valueAt } from '../../src/lib/json.ts';
import { startAuthorizationServer, type AuthorizationServer } from '../support/authorization-server.ts';
import { createBrowser } from '../support/browser.ts';
import { startRemoteServer, type RemoteServer } from '../support/remote-server.ts';
import { startService, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: Service;
let remote: RemoteServer;
let issuer: AuthorizationServer;
let userId: string;
beforeAll(async () => {
  remote = await startRemoteServer();
  issuer = await startAuthorizationServer('ada');
  service = await startService({});
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
});
afterAll(async () => {
  await service.stop();
  await issuer[Symbol.asyncDispose]();
  await remote[Symbol.asyncDispose]();
});

/** Protects the server with tokens of the issuer. `metadata` replaces members of its own metadata. */
function protect(metadata: object = {}): void {
  const { origin } = new URL(remote.url);
  const own = `${origin}/.well-known/oauth-protected-resource/mcp`;
  remote.instead = (req, res) => {
    if (req.url?.startsWith('/.well-known/oauth-protected-resource')) {
      const all = {
        resource: remote.url,
        authorization_servers: [issuer.issuer],
        scopes_supported: ['notes'],
      };
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...all, ...metadata }));
      return true;
    }
    // Tokens of the issuer are JWTs.
    if (req.headers.authorization?.startsWith('Bearer ey')) return false;
    res.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${own}"` }).end('{}');
    return true;
  };
}
beforeEach(() => protect());

const add = (connectorId: string, more: object = {}) =>
  service.call('POST', '/api/connectors', {
    body: { mcp: { connectorId, url: remote.url, authentication: { type: 'oauth2', ...more } } },
  });
const run = (connectorId: string, actionId: string) =>
  service.call('POST', `/connectors/${connectorId}/actions/${actionId}/execute`, {
    headers: { 'x-svc-userid': userId },
    body: { input: {} },
  });

test('a user signs in at the OAuth server that the metadata name', async () => {
  const made = await add('notes');
  expect([made.status, made.at('pending')]).toEqual([201, true]);
  const wish = { body: { connectors: ['notes'] } };
  const link = (await service.call('POST', `/users/${userId}/connect-sessions`, wish)).text('url');
  const browser = createBrowser();
  const opened = await browser.request(`${link}/open`, {});
  const session = `${service.url}/connect/sessions/${String(valueAt(opened.body, 'sessionId'))}`;
  const asked = await browser.request(`${session}/authorize`, {
    connectorId: 'notes',
    type: 'oauth2',
    data: {},
  });
  const consent = new URL(String(valueAt(asked.body, 'authorizationUrl')));
  expect([consent.origin, consent.searchParams.get('resource'), consent.searchParams.get('scope')]).toEqual([
    issuer.issuer,
    remote.url,
    'notes',
  ]);
  await browser.open(consent.href);
  await until(
    async () => (await service.call('GET', '/api/connectors/notes')).at('remote.pending') === false,
  );
  const answer = await run('notes', 'who_am_i');
  expect([answer.status, answer.at('data.content.0.text')]).toEqual([200, 'Bearer [secret]']);
  expect((await add('scoped', { scopes: ['read'] })).status).toBe(201);
});

test.each<[string, object]>([
  ['of another resource', { resource: 'https://other.example.com/mcp' }],
  ['without an authorization server', { authorization_servers: [] }],
])('metadata %s are refused', async (_what, metadata) => {
  protect(metadata);
  const refused = await add('liar');
  expect([refused.status, refused.at('details.reason')]).toEqual([502, 'oauth_discovery']);
  expect((await service.call('GET', '/api/connectors/liar')).status).toBe(404);
});

test('the metadata document names the redirect address of the connector', async () => {
  const { body } = await service.call('GET', '/oauth/clients/notes');
  expect(body).toMatchObject({
    client_id: `${service.url}/oauth/clients/notes`,
    redirect_uris: [`${service.url}/oauth/callback/notes`],
    token_endpoint_auth_method: 'none',
  });
});
