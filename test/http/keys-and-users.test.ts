import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiKeyEnvironment, newApiKey } from '../../src/crypto/tokens.ts';
import { startService, type Answer, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

describe('an API key', () => {
  test('an API key has a prefix, 43 digits and a checksum that detects every change', () => {
    const key = newApiKey('production');
    expect(key).toMatch(/^gh_prod_[0-9A-Za-z]{49}$/);
    expect(apiKeyEnvironment(key)).toBe('production');
    for (let at = 'gh_prod_'.length; at < key.length; at++) {
      expect(
        apiKeyEnvironment(key.slice(0, at) + (key[at] === 'x' ? 'y' : 'x') + key.slice(at + 1)),
      ).toBeUndefined();
    }
  });

  test.each([
    ['nothing', {}],
    ['another scheme', { authorization: 'Basic Zm9v' }],
    ['junk', { authorization: 'Bearer junk' }],
    ['a well-formed stranger', { authorization: `Bearer ${newApiKey('development')}` }],
  ])('a request with %s is 401 with a challenge', async (_, headers) => {
    const answer = await service.call('GET', '/api/servers', { bearer: null, headers });
    expect([answer.status, answer.text('code')]).toEqual([401, 'unauthorized']);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('rotation revokes the old key at once, only in its environment', async () => {
    const own = await startService();
    try {
      const rotated = await own.call('POST', '/api/keys/rotate');
      expect(rotated.body).toMatchObject({ environment: 'development' });
      expect((await own.call('GET', '/api/servers')).status).toBe(401);
      expect((await own.call('GET', '/api/servers', { bearer: rotated.text('apiKey') })).status).toBe(200);
      expect((await own.call('GET', '/api/servers', { bearer: own.productionKey })).status).toBe(200);
    } finally {
      await own.stop();
    }
  });

  test('the store holds no key in plain text', async () => {
    const rows = await service.context.db.selectFrom('api_keys').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(service.developmentKey);
  });
});

describe('x-api-version', () => {
  test('an x-api-version that is missing or unknown is 400 with its own code', async () => {
    const headers = { authorization: `Bearer ${service.developmentKey}` };
    const missing = await fetch(`${service.url}/users`, { headers });
    expect(await missing.json()).toMatchObject({ code: 'api_version_missing' });
    const unknown = await service.call('GET', '/users', { headers: { 'x-api-version': '2020-01' } });
    expect([unknown.status, unknown.text('code')]).toEqual([400, 'api_version_unsupported']);
  });

  test('x-api-version is not required by /api and the dated paths', async () => {
    const headers = { authorization: `Bearer ${service.developmentKey}`, 'content-type': 'application/json' };
    expect((await fetch(`${service.url}/api/servers`, { headers })).status).toBe(200);
    const body = JSON.stringify({ username: 'dated' });
    expect((await fetch(`${service.url}/2023-12/users`, { method: 'POST', headers, body })).status).toBe(201);
  });
});

describe('users', () => {
  test('users are created, read, changed and deleted', async () => {
    const made = await service.call('POST', '/users', {
      body: { username: 'ada', metadata: { plan: 'pro' } },
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ username: 'ada', metadata: { plan: 'pro' }, enabled: true });
    const path = `/users/${made.text('userId')}`;
    expect((await service.call('GET', path)).body).toEqual(made.body);
    const changed = await service.call('PUT', path, { body: { username: 'ada l', enabled: false } });
    expect(changed.body).toMatchObject({ username: 'ada l', enabled: false, metadata: { plan: 'pro' } });
    expect((await service.call('DELETE', path)).status).toBe(200);
    expect(await service.call('GET', path)).toMatchObject({ status: 404, body: { code: 'user_not_found' } });
  });

  test('a username is unique in its environment', async () => {
    await service.call('POST', '/users', { body: { username: 'twice' } });
    const again = await service.call('POST', '/2023-12/users', { body: { username: 'twice' } });
    expect([again.status, again.text('code')]).toEqual([409, 'user_exists']);
    const elsewhere = await service.call('POST', '/users', {
      bearer: service.productionKey,
      body: { username: 'twice' },
    });
    expect(elsewhere.status).toBe(201);
  });

  test('users are read by their ids, those of this environment only', async () => {
    const make = async (username: string, bearer = service.developmentKey) =>
      (await service.call('POST', '/users', { bearer, body: { username } })).text('userId');
    const ids = [await make('first of three'), await make('second of three')];
    const foreign = await make('third of three', service.productionKey);
    const found = await service.call('GET', `/users?userIds=${[...ids, foreign, 'usr_absent'].join(',')}`);
    expect(found.at('data.0.username')).toBe('first of three');
    expect(found.at('data.1.username')).toBe('second of three');
    expect(found.at('data.2')).toBeUndefined();
    expect((await service.call('GET', '/users?userIds=x')).status).toBe(400);
  });

  test('pages follow nextOffset until hasMore is false, each user once', async () => {
    const own = await startService();
    try {
      for (let n = 0; n < 7; n++) await own.call('POST', '/users', { body: { username: `user ${n}` } });
      const seen: string[] = [];
      let last: Answer | undefined;
      let offset = 0;
      do {
        last = await own.call('GET', `/users?limit=3&offset=${offset}`);
        for (let n = 0; last.at(`data.${n}`) !== undefined; n++) seen.push(last.text(`data.${n}.username`));
        offset = Number(last.at('pagination.nextOffset'));
      } while (last.at('pagination.hasMore') === true);
      expect(last.at('pagination.nextOffset')).toBeUndefined();
      expect(seen).toHaveLength(7);
      expect(new Set(seen).size).toBe(7);
    } finally {
      await own.stop();
    }
  });

  test.each(['limit=0', 'limit=51', 'limit=1.5', 'offset=-1', 'offset=x', 'limit='])(
    'users with the query %s are 400',
    async (query) => {
      expect(await service.call('GET', `/users?${query}`)).toMatchObject({
        status: 400,
        body: { code: 'invalid_request' },
      });
    },
  );
});

test.for(STORE_KINDS)('users are found by a part of their username, over %s', async (kind) => {
  await using found = await startService({ kind });
  for (const username of ['Ada@northwind.example', 'bob_b', 'bobxb', '100 %'])
    await found.call('POST', '/users', { body: { username } });
  const search = async (text: string) => {
    const answer = await found.call('GET', `/users?search=${encodeURIComponent(text)}`);
    return [0, 1, 2, 3].map((at) => answer.at(`data.${at}.username`)).filter(Boolean);
  };
  expect(await search('ada@NORTH')).toEqual(['Ada@northwind.example']);
  expect(await search('b_b')).toEqual(['bob_b']);
  expect(await search('0 %')).toEqual(['100 %']);
  expect(await search('bob')).toEqual(['bob_b', 'bobxb']);
  expect(await search('nobody')).toEqual([]);
});

test('health needs no key, readiness names the missing parts', async () => {
  expect(await (await fetch(`${service.url}/health`)).json()).toEqual({
    status: 'healthy',
    timestamp: expect.stringMatching(/Z$/),
  });
  // A busy machine may block the event loop for a second, and readiness reports that for a while.
  await expect
    .poll(async () => (await fetch(`${service.url}/ready`)).json())
    .toEqual({ status: 'ready', missing: [] });
});
