import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { valueAt } from '../../src/lib/json.ts';
import { createBrowser } from '../support/browser.ts';
import { rpc } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

/* An OAuth server and its API. The token answer names scopes as the test says. */
let app: Server;
let origin = '';
let service: Service;
let made = 0;
/** The scope of the next token answer; undefined for an answer without. */
let answered: string | undefined;
/** The answer of the API in place of its records. */
let refusal: { status: number; headers?: Record<string, string> } | undefined;
/** Requests that the API saw, by their bearer. */
let calls: string[] = [];

beforeAll(async () => {
  app = createServer((req, res) => {
    const url = new URL(req.url ?? '/', origin);
    const json = (status: number, value: object, headers = {}) =>
      res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    if (url.pathname === '/authorize') {
      const back = new URL(url.searchParams.get('redirect_uri') ?? '');
      back.searchParams.set('code', 'code_0123456789');
      back.searchParams.set('state', url.searchParams.get('state') ?? '');
      return res.writeHead(302, { location: back.href }).end();
    }
    if (url.pathname === '/token') {
      const scope = answered === undefined ? {} : { scope: answered };
      return json(200, {
        access_token: `token_${++made}_0123456789`,
        token_type: 'Bearer',
        expires_in: 3600,
        ...scope,
      });
    }
    if (url.pathname === '/me') return json(200, { id: 'ada' });
    calls.push(req.headers.authorization ?? '');
    if (refusal) return json(refusal.status, { message: 'no' }, refusal.headers);
    return json(200, { items: [] });
  });
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
  const address = app.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  origin = `http://127.0.0.1:${address.port}`;
  service = await startService({});
});
afterAll(async () => {
  await service.stop();
  await new Promise((resolve) => app.close(resolve));
});
beforeEach(() => {
  answered = undefined;
  refusal = undefined;
  calls = [];
});

/** Adds a connector of an OpenAPI document whose one guarded operation needs these scopes, and its OAuth app. */
async function connectorFor(scopes: string, more: { probe?: true; appScopes?: string[] } = {}) {
  const connectorId = `app-${++made}`;
  const names = scopes.split(' ').filter((one) => one !== '');
  const flow = { authorizationUrl: `${origin}/authorize`, tokenUrl: `${origin}/token` };
  const guarded = { security: [{ login: names }], responses: { '200': { description: 'Good.' } } };
  const document = {
    openapi: '3.0.3',
    info: { title: connectorId, version: '1' },
    servers: [{ url: origin }],
    components: {
      securitySchemes: {
        login: {
          type: 'oauth2',
          flows: {
            authorizationCode: { ...flow, scopes: Object.fromEntries(names.map((name) => [name, name])) },
          },
        },
      },
    },
    paths: {
      '/items': { get: { operationId: 'get_items', ...guarded } },
      '/me': { get: { operationId: 'get_me', security: [{ login: [] }], responses: guarded.responses } },
    },
  };
  const imported = await service.call('POST', '/api/connectors', {
    body: { openapi: { document, connectorId } },
  });
  expect(imported.status).toBe(201);
  if (more.probe)
    await service.call('PUT', `/api/connectors/${connectorId}/overlay`, { body: { probe: 'get_me' } });
  const { appScopes: own } = more;
  const client = {
    clientId: 'gatehouse',
    clientSecret: 'secret_0123456789',
    ...(own ? { scopes: own } : {}),
  };
  const stored = await service.call('PUT', `/api/connectors/${connectorId}/oauth-app`, { body: client });
  expect(stored.status).toBe(200);
  return connectorId;
}

async function newUser() {
  const { at } = await service.call('POST', '/users', { body: { username: `user ${++made}` } });
  return String(at('userId'));
}

/** Follows a link as a browser does, and returns the scopes that the consent page was asked for. */
async function follow(link: string, connectorId: string): Promise<string[]> {
  const browser = createBrowser();
  const opened = await browser.request(`${link}/open`, {});
  const session = `${service.url}/connect/sessions/${String(valueAt(opened.body, 'sessionId'))}`;
  const asked = await browser.request(`${session}/authorize`, { connectorId, type: 'oauth2', data: {} });
  const consent = new URL(String(valueAt(asked.body, 'authorizationUrl')));
  await browser.open(consent.href);
  const ended = await browser.request(session);
  expect(valueAt(ended.body, 'result.success')).toBe(true);
  return consent.searchParams.get('scope')?.split(' ') ?? [];
}

async function signIn(userId: string, connectorId: string): Promise<string[]> {
  const link = await service.call('POST', `/users/${userId}/connect-sessions`, {
    body: { connectors: [connectorId] },
  });
  return follow(link.text('url'), connectorId);
}

const run = (userId: string, connectorId: string, body: object = {}) =>
  service.call('POST', `/connectors/${connectorId}/actions/get_items/execute`, {
    headers: { 'x-svc-userid': userId },
    body: { input: {}, ...body },
  });

async function serverOf(userId: string, connectorId: string) {
  const server = await service.call('POST', '/api/servers', {
    headers: { 'x-svc-userid': userId },
    body: {
      name: `server ${++made}`,
      toolMode: 'direct',
      restrictions: { connectors: { mode: 'allowlist', allowedIds: [connectorId] } },
    },
  });
  return server.text('accessUrl');
}

const toolOf = (connectorId: string) => `${connectorId}_get_items`;

test.each([
  ['openid offline_access read', 'openid read'],
  ['openid profile email read', 'read'],
  ['user:email', 'user'],
  ['read_orders write_orders', 'write_orders'],
  ['openid email', 'openid https://www.googleapis.com/auth/userinfo.email'],
  ['https://graph.microsoft.com/Mail.Read', 'Mail.Read'],
  ['mail.read', 'Mail.Read'],
  ['read', undefined],
  ['read', 'read'],
  ['read', ''],
])('an account granted for %j as %j makes calls over REST and MCP', async (needed, granted) => {
  const connectorId = await connectorFor(needed);
  const userId = await newUser();
  answered = granted;
  expect(await signIn(userId, connectorId)).toEqual(needed.split(' ').toSorted());
  expect((await run(userId, connectorId)).status).toBe(200);
  expect(calls).toHaveLength(1);
  const url = await serverOf(userId, connectorId);
  const listed = await rpc(url, 'tools/list');
  expect(JSON.stringify(listed.at('result.tools'))).toContain(`"${toolOf(connectorId)}"`);
  const found = await rpc(url, 'tools/call', {
    name: 'search_actions_svc',
    arguments: { query: 'get items', connectorId },
  });
  expect(found.at('result.structuredContent.actions.0')).toMatchObject({
    actionId: 'get_items',
    connected: true,
  });
  const called = await rpc(url, 'tools/call', { name: toolOf(connectorId), arguments: {} });
  expect(called.at('result.isError')).not.toBe(true);
  const batch = await rpc(url, 'tools/call', {
    name: 'execute_batch_svc',
    arguments: { calls: [{ connectorId, actionId: 'get_items', parameters: {} }] },
  });
  expect(batch.at('result.structuredContent.results.0.error')).toBeUndefined();
  expect(calls).toHaveLength(3);
});

describe('several accounts', () => {
  /** Connects two accounts of tokens that were taken over; the first one's grant names no scope of the action. */
  async function connectTwo(userId: string, connectorId: string) {
    const take = async (accessToken: string, scopes: string[]) =>
      (
        await service.call('POST', `/users/${userId}/credentials`, {
          headers: { 'x-svc-userid': userId },
          body: { connectorId, type: 'oauth2', data: { accessToken, scopes } },
        })
      ).text('credentialId');
    return [
      await take('token_of_other_0123456789', ['other']),
      await take('token_of_named_0123456789', ['READ']),
    ];
  }

  test('a choice lists the account first whose grant names the scope', async () => {
    const connectorId = await connectorFor('read');
    const userId = await newUser();
    const [other, named] = await connectTwo(userId, connectorId);
    const refused = await run(userId, connectorId);
    expect(refused.at('code')).toBe('credential_ambiguous');
    expect([
      refused.at('details.credentials.0.credentialId'),
      refused.at('details.credentials.1.credentialId'),
    ]).toEqual([named, other]);
    expect(calls).toHaveLength(0);
  });

  test.each(['named', 'default'])('the %s account stays chosen, whatever its grant names', async (how) => {
    const connectorId = await connectorFor('read');
    const userId = await newUser();
    const [other = ''] = await connectTwo(userId, connectorId);
    if (how === 'default')
      await service.call('PUT', `/users/${userId}/credentials/${other}`, {
        headers: { 'x-svc-userid': userId },
        body: { default: true },
      });
    const ran = await run(userId, connectorId, how === 'named' ? { credentialId: other } : {});
    expect(ran.status).toBe(200);
    expect(calls).toEqual(['Bearer token_of_other_0123456789']);
  });
});

describe('a refusal of the app', () => {
  test.each([
    [403, 'without a probe', {}],
    [403, 'with a probe', { probe: true } as const],
    [401, 'with a probe', { probe: true } as const],
  ])(
    'a refusal of the app with %i %s names the scopes, and its link asks for them',
    async (status, _probe, more) => {
      const connectorId = await connectorFor('read_orders write_orders', {
        ...more,
        appScopes: ['write_orders'],
      });
      const userId = await newUser();
      answered = 'write_orders';
      expect(await signIn(userId, connectorId)).toEqual(['write_orders']);
      refusal = { status };
      const refused = await run(userId, connectorId);
      expect([refused.status, refused.at('code')]).toEqual([422, 'upstream_rejected']);
      expect(refused.at('details')).toMatchObject({
        reason: 'permission',
        needed: 'read_orders',
        scopes: ['read_orders'],
      });
      expect(await follow(refused.text('details.reconnectUrl'), connectorId)).toEqual([
        'write_orders',
        'read_orders',
      ]);
      refusal = undefined;
      expect((await run(userId, connectorId)).status).toBe(200);
      const accounts = await service.call('GET', `/users/${userId}/credentials`, {
        headers: { 'x-svc-userid': userId },
      });
      expect(accounts.at('data')).toHaveLength(1);
    },
  );

  test('a refusal of the app over MCP has a link and a next step, and no question', async () => {
    const connectorId = await connectorFor('read_orders', { appScopes: ['other'] });
    const userId = await newUser();
    answered = 'other';
    await signIn(userId, connectorId);
    refusal = { status: 403 };
    const url = await serverOf(userId, connectorId);
    const called = await rpc(url, 'tools/call', { name: toolOf(connectorId), arguments: {} });
    const error = 'result.structuredContent.error';
    expect(called.at(error)).toMatchObject({
      code: 'upstream_rejected',
      details: { reason: 'permission', needed: 'read_orders' },
    });
    const link = String(called.at(`${error}.details.reconnectUrl`));
    expect(called.at('result.content.0.text')).toContain('Ask the user to open the link');
    expect(called.at('result.content.0.text')).toContain(link);
    expect(await follow(link, connectorId)).toEqual(['other', 'read_orders']);
    const batch = await rpc(url, 'tools/call', {
      name: 'execute_batch_svc',
      arguments: { calls: [{ connectorId, actionId: 'get_items', parameters: {} }] },
    });
    expect(JSON.stringify(batch.body)).toContain('/connect/s/');
  });

  test('a refusal to an account whose grant names all scopes has no link', async () => {
    const connectorId = await connectorFor('https://graph.microsoft.com/Mail.Read');
    const userId = await newUser();
    answered = 'mail.read openid';
    await signIn(userId, connectorId);
    refusal = { status: 403 };
    const refused = await run(userId, connectorId);
    expect([refused.status, refused.at('code')]).toEqual([422, 'upstream_rejected']);
    expect([refused.at('details.needed'), refused.at('details.reconnectUrl')]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('a refusal with scopes in its challenge asks for these scopes', async () => {
    const connectorId = await connectorFor('read_orders');
    const userId = await newUser();
    answered = 'something';
    await signIn(userId, connectorId);
    refusal = {
      status: 403,
      headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="orders orders:all"' },
    };
    const refused = await run(userId, connectorId);
    expect(refused.at('details')).toMatchObject({
      reason: 'permission',
      needed: 'orders orders:all',
      scopes: ['orders', 'orders:all'],
    });
    expect(await follow(refused.text('details.reconnectUrl'), connectorId)).toEqual([
      'read_orders',
      'orders',
      'orders:all',
    ]);
  });

  test('a refusal lists the scopes that a reconnect over REST asks for', async () => {
    const connectorId = await connectorFor('read_orders', { appScopes: ['other'] });
    const userId = await newUser();
    answered = 'other';
    await signIn(userId, connectorId);
    refusal = { status: 403 };
    const { scopes, credentialId } = Object((await run(userId, connectorId)).at('details'));
    const path = `/users/${userId}/credentials/${String(credentialId)}/reconnect`;
    const reconnect = (body: object) =>
      service.call('POST', path, { headers: { 'x-svc-userid': userId }, body });
    const link = (await reconnect({ scopes })).text('authorizationUrl');
    expect(await follow(link, connectorId)).toEqual(['other', 'read_orders']);
    expect((await reconnect({ scopes: ['two words'] })).status).toBe(400);
  });

  test('a refusal without an OAuth app stays the answer, without a link', async () => {
    const connectorId = await connectorFor('read_orders');
    const userId = await newUser();
    const headers = { 'x-svc-userid': userId };
    await service.call('POST', `/users/${userId}/credentials`, {
      headers,
      body: {
        connectorId,
        type: 'oauth2',
        data: { accessToken: 'token_taken_0123456789', scopes: ['other'] },
      },
    });
    await service.call('DELETE', `/api/connectors/${connectorId}/oauth-app`);
    refusal = { status: 403 };
    const refused = await run(userId, connectorId);
    expect([refused.status, refused.at('details.needed')]).toEqual([422, 'read_orders']);
    expect(refused.at('details.reconnectUrl')).toBeUndefined();
  });
});
