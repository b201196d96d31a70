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

test('a server without metadata is its own authorization server', async () => {
  const { origin } = new URL(remote.url);
  remote.instead = (req, res) => {
    const isKnown = req.url === '/.well-known/oauth-authorization-server';
    const metadata = {
      issuer: `${origin}/oauth`,
      authorization_endpoint: `${origin}/oauth/authorize`,
      token_endpoint: `${origin}/oauth/token`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
    };
    res.writeHead(isKnown ? 200 : req.method === 'POST' ? 401 : 404, { 'content-type': 'application/json' });
    res.end(isKnown ? JSON.stringify(metadata) : '{}');
    return true;
  };
  expect((await add('older')).status).toBe(201);
  const { body } = await service.call('GET', '/api/connectors/older');
  expect(valueAt(body, 'definition.authentication.0.authorizeUrl')).toBe(`${origin}/oauth/authorize`);
  remote.instead = (_req, res) => {
    res.writeHead(500).end();
    return true;
  };
  expect((await add('broken')).at('details.reason')).toBe('oauth_discovery');
});

test('a refusal names the scopes that the server wants', async () => {
  protect();
  const { instead } = remote;
  remote.instead = (req, res, body) => {
    if (!body.includes('"tools/call"')) return instead?.(req, res, body) ?? false;
    const challenge = 'Bearer error="insufficient_scope", scope="notes notes:write"';
    res.writeHead(403, { 'www-authenticate': challenge }).end('{}');
    return true;
  };
  const refused = await run('notes', 'who_am_i');
  expect([refused.status, refused.at('details.needed')]).toEqual([422, 'notes notes:write']);
});

test('the metadata document names the redirect address of the connector', async () => {
  const { body } = await service.call('GET', '/oauth/clients/notes');
  expect(body).toMatchObject({
    client_id: `${service.url}/oauth/clients/notes`,
    redirect_uris: [`${service.url}/oauth/callback/notes`],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  });
});
