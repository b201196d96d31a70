import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, type Service } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const create = (body: unknown, headers: Record<string, string> = {}) =>
  service.call('POST', '/api/servers', { body, headers });
let names = 0;
const newName = () => `server ${++names}`;

describe('creating an MCP server', () => {
  test('a new MCP server returns 201 with its addresses and, only once, its token', async () => {
    const made = await create({ name: '  Support  ', description: 'for support' });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      name: 'Support',
      description: 'for support',
      hasRestrictions: false,
      enabled: true,
    });
    expect(made.text('url')).toBe(`${service.url}/mcp/${made.text('serverId')}`);
    expect(made.text('accessUrl')).toBe(`${made.text('url')}/${made.text('accessToken')}`);
    expect(made.headers.get('cache-control')).toBe('no-store');
    const read = await service.call('GET', `/api/servers/${made.text('serverId')}`);
    expect(read.at('accessToken')).toBeUndefined();
    expect(read.text('accessUrl')).toBe(made.text('accessUrl'));
  });

  test.each([
    [{}, 'name: is required'],
    [{ name: '' }, 'name: must be 1 to 100 characters'],
    [{ name: '   ' }, 'name: must be 1 to 100 characters'],
    [{ name: 'x'.repeat(101) }, 'name: must be 1 to 100 characters'],
    [{ name: 'a', tokenExpiresInDays: 0 }, 'tokenExpiresInDays: must be a whole number from 1 to 365'],
    [{ name: 'a', tokenExpiresInDays: 366 }, 'tokenExpiresInDays: must be a whole number from 1 to 365'],
    [{ name: 'a', tokenExpiresInDays: 1.5 }, 'tokenExpiresInDays: must be a whole number from 1 to 365'],
    [{ name: 'a', colour: 'red' }, 'colour: is not a known member'],
    [
      { name: 'a', restrictions: { users: { mode: 'allowlist', blockedIds: ['u'] } } },
      'restrictions.users.blockedIds: must be empty in mode allowlist',
    ],
    [
      { name: 'a', restrictions: { actions: { mode: 'allow' } } },
      'restrictions.actions.mode: must be one of: allowlist, blocklist. Did you mean "allowlist"?',
    ],
    [{ name: 'a', codeMode: 'On' }, 'codeMode: must be one of: auto, on, off. Did you mean "on"?'],
    [{ name: 'a', budgets: 3 }, 'budgets: must be a list: write [3]'],
    [{ name: 'a', restrictions: { actions: 'all' } }, 'restrictions.actions: must be an object'],
    [{ name: 'a', restrictions: { apps: {} } }, 'restrictions.apps: is not a known member'],
  ])('a new MCP server is refused with %j: %s', async (body, sentence) => {
    const answer = await create(body);
    expect(answer.status).toBe(400);
    expect(answer.text('code')).toBe('invalid_request');
    expect(answer.text('error')).toContain(sentence);
  });

  test.each([
    ['{"name": ', 'is not JSON'],
    ['[]', 'The body is invalid'],
    [`${'['.repeat(10_000)}${']'.repeat(10_000)}`, 'nests deeper than 64 levels'],
  ])('a new MCP server is refused with the body %.20s', async (rawBody, sentence) => {
    const answer = await service.call('POST', '/api/servers', { rawBody });
    expect(answer.status).toBe(400);
    expect(answer.text('error')).toContain(sentence);
  });

  test('a new MCP server is refused in another content type or over 1 MiB', async () => {
    const form = await service.call('POST', '/api/servers', {
      rawBody: 'name=a',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect([form.status, form.text('code')]).toEqual([415, 'unsupported_media_type']);
    const large = await create({ name: 'a', description: 'x'.repeat(1024 * 1024) });
    expect([large.status, large.text('code')]).toEqual([413, 'payload_too_large']);
  });

  test('a name is unique in its environment, case-insensitive', async () => {
    await create({ name: 'Taken' });
    const again = await create({ name: 'tAKEN ' });
    expect([again.status, again.text('code')]).toEqual([409, 'server_exists']);
    const elsewhere = await service.call('POST', '/api/servers', {
      bearer: service.productionKey,
      body: { name: 'Taken' },
    });
    expect(elsewhere.status).toBe(201);
  });

  test('two requests with one name at the same time create one server', async () => {
    const name = newName();
    const statuses = (await Promise.all([create({ name }), create({ name })]))
      .map((answer) => answer.status)
      .sort();
    expect(statuses).toEqual([201, 409]);
  });

  test('an owner that does not exist is 404', async () => {
    const answer = await create({ name: newName() }, { 'x-svc-userid': 'usr_absent' });
    expect([answer.status, answer.text('code')]).toEqual([404, 'user_not_found']);
  });
});

describe('listing', () => {
  test('the list of servers returns pages and the total', async () => {
    const own = await startService();
    try {
      for (const name of ['a', 'b', 'c']) await own.call('POST', '/api/servers', { body: { name } });
      const page = await own.call('GET', '/api/servers?limit=2&offset=1');
      expect(page.body).toMatchObject({ servers: [{ name: 'b' }, { name: 'c' }], count: 3 });
      expect(await own.call('GET', '/api/servers')).toMatchObject({ status: 200, body: { count: 3 } });
    } finally {
      await own.stop();
    }
  });

  test.each(['limit=0', 'limit=51', 'limit=x', 'offset=-1', 'limit=2&limit=3', 'page=1'])(
    'the list of servers refuses ?%s',
    async (query) => {
      expect((await service.call('GET', `/api/servers?${query}`)).status).toBe(400);
    },
  );

  test('x-svc-userid filters by owner', async () => {
    const owner = (await service.call('POST', '/users', { body: { username: 'owner' } })).text('userId');
    const name = newName();
    await create({ name }, { 'x-svc-userid': owner });
    const mine = await service.call('GET', '/api/servers', { headers: { 'x-svc-userid': owner } });
    expect(mine.body).toMatchObject({ count: 1, servers: [{ name, ownerUserId: owner }] });
  });
});

describe('changing', () => {
  test('a changed MCP server keeps the other members and replaces restrictions whole', async () => {
    const made = await create({
      name: newName(),
      description: 'kept',
      restrictions: { connectors: { allowedIds: ['a'] }, users: { blockedIds: ['u'] } },
    });
    const path = `/api/servers/${made.text('serverId')}`;
    const changed = await service.call('PUT', path, {
      body: { restrictions: { actions: { blockedActions: ['x'] } }, customInstructions: 'Be brief.' },
    });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({
      description: 'kept',
      customInstructions: 'Be brief.',
      hasRestrictions: true,
    });
    expect(changed.at('restrictions')).toEqual({ actions: { blockedActions: ['x'] } });
    expect((await service.call('PUT', path, { body: { restrictions: {} } })).at('hasRestrictions')).toBe(
      false,
    );
  });

  test('a server renamed to a taken name is 409, to its own name in other case is kept', async () => {
    await create({ name: 'Alpha' });
    const path = `/api/servers/${(await create({ name: 'Beta' })).text('serverId')}`;
    expect((await service.call('PUT', path, { body: { name: 'ALPHA' } })).status).toBe(409);
    expect((await service.call('PUT', path, { body: { name: 'BETA' } })).at('name')).toBe('BETA');
  });
});

test('a deleted server is confirmed with message and id, later reads are 404', async () => {
  const serverId = (await create({ name: newName() })).text('serverId');
  const gone = await service.call('DELETE', `/api/servers/${serverId}`);
  expect([gone.status, gone.at('serverId'), typeof gone.at('message')]).toEqual([200, serverId, 'string']);
  for (const method of ['GET', 'DELETE']) {
    const answer = await service.call(method, `/api/servers/${serverId}`);
    expect([answer.status, answer.text('code')]).toEqual([404, 'server_not_found']);
  }
});

test('rotation returns a new token and keeps the server', async () => {
  const made = await create({ name: newName(), tokenExpiresInDays: 1 });
  expect(made.at('tokenExpiresAt')).toBeTypeOf('string');
  const rotated = await service.call('POST', `/api/servers/${made.text('serverId')}/token`, { body: {} });
  expect(rotated.status).toBe(200);
  expect(rotated.text('accessToken')).not.toBe(made.text('accessToken'));
  expect(rotated.at('tokenExpiresAt')).toBeNull();
  expect(rotated.at('serverId')).toBe(made.at('serverId'));
});

describe('with the JWT of a user', () => {
  let userId: string;
  let jwt: string;
  beforeAll(async () => {
    userId = (await service.call('POST', '/users', { body: { username: 'jwt user' } })).text('userId');
    jwt = (await service.call('GET', `/2023-12/user/${userId}/token`)).text('token');
  });

  test("a user's JWT sees, changes and deletes only servers created with such a JWT", async () => {
    const byKey = await create({ name: newName() }, { 'x-svc-userid': userId });
    const made = await service.call('POST', '/api/servers', { bearer: jwt, body: { name: newName() } });
    expect(made.body).toMatchObject({ ownerUserId: userId });
    const list = await service.call('GET', '/api/servers', { bearer: jwt });
    expect(list.body).toMatchObject({ count: 1, servers: [{ serverId: made.text('serverId') }] });
    expect(
      (await service.call('GET', `/api/servers/${byKey.text('serverId')}`, { bearer: jwt })).status,
    ).toBe(404);
    expect(
      (await service.call('DELETE', `/api/servers/${made.text('serverId')}`, { bearer: jwt })).status,
    ).toBe(200);
  });

  test('another user in x-svc-userid is 403', async () => {
    const other = (await service.call('POST', '/users', { body: { username: 'other' } })).text('userId');
    const answer = await service.call('GET', '/api/servers', {
      bearer: jwt,
      headers: { 'x-svc-userid': other },
    });
    expect([answer.status, answer.text('code')]).toEqual([403, 'forbidden']);
  });

  test("a user's JWT cannot create servers when the operator disabled that", async () => {
    await service.call('PUT', '/api/settings', { body: { userServers: 'off' } });
    const answer = await service.call('POST', '/api/servers', { bearer: jwt, body: { name: newName() } });
    expect([answer.status, answer.text('code')]).toEqual([403, 'forbidden']);
    await service.call('PUT', '/api/settings', { body: { userServers: 'on' } });
  });

  test("a user's JWT is refused after a revocation, and a new one works at once", async () => {
    await service.call('POST', `/users/${userId}/tokens/revoke`);
    const refused = await service.call('GET', '/api/servers', { bearer: jwt });
    expect([refused.status, refused.text('code')]).toEqual([401, 'unauthorized']);
    const fresh = (await service.call('GET', `/2023-12/user/${userId}/token`)).text('token');
    expect((await service.call('GET', '/api/servers', { bearer: fresh })).status).toBe(200);
  });
});

test('keys without servers:token get no token, and showing one is audited', async () => {
  const { createApiKey } = await import('../../src/identity/api-keys.ts');
  const bearer = await createApiKey(service.context, {
    environment: 'development',
    scopes: ['servers:read'],
  });
  const serverId = (await create({ name: newName() })).text('serverId');
  const hidden = await service.call('GET', `/api/servers/${serverId}`, { bearer });
  expect(hidden.text('accessUrl')).toMatch(/\/\*\*\*$/);
  await service.call('GET', `/api/servers/${serverId}`);
  const audit = await service.call('GET', `/api/audit?operation=getServer&target=${serverId}`);
  expect(audit.body).toMatchObject({ data: [{ status: 200, caller: 'key:key_development' }] });
});

test('an unknown address is 404 and a wrong method 405 with Allow, both as JSON', async () => {
  expect(await service.call('GET', '/nowhere')).toMatchObject({ status: 404, body: { code: 'not_found' } });
  const wrong = await service.call('PATCH', '/api/servers');
  expect([wrong.status, wrong.headers.get('allow'), wrong.text('code')]).toEqual([
    405,
    'POST, GET, HEAD',
    'method_not_allowed',
  ]);
});

test('the log contains no access token', async () => {
  const made = await create({ name: newName() });
  await fetch(made.text('accessUrl'), { method: 'POST', body: '{}' });
  expect(service.logged.join('')).not.toContain(made.text('accessToken'));
  expect(service.logged.some((line) => line.includes('/api/servers'))).toBe(true);
});
