import { decodeJwt } from 'jose';
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
const run = (connectorId: string, actionId: string, user = userId) =>
  service.call('POST', `/connectors/${connectorId}/actions/${actionId}/execute`, {
    headers: { 'x-svc-userid': user },
    body: { input: {} },
  });
/** Signs a user in as a browser does, and returns the address of the consent. */
async function signIn(connectorId: string, user = userId, at = service): Promise<URL> {
  const wish = { body: { connectors: [connectorId] } };
  const link = (await at.call('POST', `/users/${user}/connect-sessions`, wish)).text('url');
  const browser = createBrowser();
  const opened = await browser.request(`${link}/open`, {});
  const session = `${at.url}/connect/sessions/${String(valueAt(opened.body, 'sessionId'))}`;
  const asked = await browser.request(`${session}/authorize`, { connectorId, type: 'oauth2', data: {} });
  const consent = new URL(String(valueAt(asked.body, 'authorizationUrl')));
  await browser.open(consent.href);
  return consent;
}

test('a user signs in at the OAuth server that the metadata name', async () => {
  const made = await add('notes');
  expect([made.status, made.at('pending')]).toEqual([201, true]);
  const consent = await signIn('notes');
  expect([consent.origin, consent.searchParams.get('resource'), consent.searchParams.get('scope')]).toEqual([
    issuer.issuer,
    remote.url,
    'notes',
  ]);
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

test('the client id is the address of the document that the operator hosts', async () => {
  const hosted = 'https://static.example.com/gatehouse.json';
  const own = await startService({ env: { GATEHOUSE_CLIENT_METADATA_URL: hosted } });
  try {
    issuer.readsDocuments = true;
    issuer.asked.length = 0;
    const mcp = { connectorId: 'hosted', url: remote.url, authentication: { type: 'oauth2' } };
    expect((await own.call('POST', '/api/connectors', { body: { mcp } })).status).toBe(201);
    const user = (await own.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
    const consent = await signIn('hosted', user, own);
    expect(consent.searchParams.get('client_id')).toBe(hosted);
    expect(issuer.asked).toContainEqual({ path: '/token', clientId: hosted });
    const { body } = await own.call('GET', '/oauth/clients/hosted');
    expect(body).toMatchObject({ client_id: hosted, redirect_uris: [`${own.url}/oauth/callback/hosted`] });
  } finally {
    issuer.readsDocuments = false;
    await own.stop();
  }
});

test('users of a server that moved to another OAuth server connect again', async () => {
  const bob = (await service.call('POST', '/users', { body: { username: 'bob' } })).text('userId');
  /** The issuers of the tokens that the server got. */
  const got: string[] = [];
  let tenant = 'tenant1';
  const moveTo = (name: string) => {
    tenant = name;
    protect({ authorization_servers: [`${issuer.issuer}/${name}`] });
    const { instead } = remote;
    remote.instead = (req, res, body) => {
      const token = req.headers.authorization?.replace('Bearer ', '');
      if (token) got.push(String(decodeJwt(token).iss));
      if (!token || got.at(-1)?.endsWith(tenant)) return instead?.(req, res, body) ?? false;
      res.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end('{}');
      return true;
    };
  };
  moveTo('tenant1');
  expect((await add('moving')).status).toBe(201);
  for (const user of [userId, bob]) {
    expect((await signIn('moving', user)).searchParams.get('client_id')).toBe('client/tenant1');
    await until(async () => (await run('moving', 'who_am_i', user)).status === 200);
  }
  moveTo('tenant2');
  issuer.asked.length = 0;
  expect((await run('moving', 'who_am_i')).text('code')).toBe('credential_invalid');
  const tokenUrl = async () =>
    (await service.call('GET', '/api/connectors/moving')).at('definition.authentication.0.tokenUrl');
  await until(async () => (await tokenUrl()) === `${issuer.issuer}/tenant2/token`);
  expect((await service.call('GET', '/connectors/moving/actions')).at('data.0.actionId')).toBeTypeOf(
    'string',
  );
  // The account of the other user stays, and its token is not sent.
  const before = got.length;
  const late = await run('moving', 'who_am_i', bob);
  expect([late.status, late.at('details.reason'), late.text('error')]).toEqual([
    409,
    'other_origin',
    expect.stringContaining('at another OAuth server'),
  ]);
  expect(got).toHaveLength(before);
  expect((await signIn('moving')).searchParams.get('client_id')).toBe('client/tenant2');
  await until(async () => (await run('moving', 'who_am_i')).status === 200);
  // Other connectors of this file move too, and register.
  expect(issuer.asked).toContainEqual({ path: '/tenant2/register', clientId: null });
  expect(issuer.asked.filter(({ clientId }) => clientId !== null)).toEqual([
    { path: '/tenant2/token', clientId: 'client/tenant2' },
  ]);
});
