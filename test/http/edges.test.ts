import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startEvents, type EventsService } from '../support/events.ts';
import { startService } from '../support/service.ts';

/* Edge cases of requests: methods, characters, letter case. */

let service: EventsService;
beforeAll(async () => {
  service = await startEvents();
});
afterAll(() => service.stop());

const api = { 'x-api-version': '2025-09' };

describe('HEAD', () => {
  test.each(['/health', '/ready', '/openapi.json', '/api/servers', '/sdk.js'])(
    'HEAD of %s answers like GET, without a body',
    async (path) => {
      const headers = { authorization: `Bearer ${service.developmentKey}` };
      const get = await fetch(service.url + path, { headers });
      const head = await fetch(service.url + path, { method: 'HEAD', headers });
      expect([head.status, await head.text()]).toEqual([get.status, '']);
      expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
      await get.text();
    },
  );

  test('HEAD without a GET route is rejected, and Allow lists HEAD where it exists', async () => {
    const head = await fetch(`${service.url}/api/keys/rotate`, { method: 'HEAD' });
    expect(head.status).toBe(405);
    const put = await service.call('PUT', '/api/servers', { body: {} });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST, GET, HEAD']);
  });

  test('HEAD without a key is rejected like GET', async () => {
    expect((await fetch(`${service.url}/api/servers`, { method: 'HEAD' })).status).toBe(401);
  });
});

test('half of a surrogate pair is rejected, and a whole pair is stored', async () => {
  for (const rawBody of ['{"username":"a\\ud83d"}', '{"username":"b","metadata":{"x\\udc00":[1]}}']) {
    const refused = await service.call('POST', '/users', { headers: api, rawBody });
    expect([refused.status, refused.at('code')]).toEqual([400, 'invalid_request']);
    expect(refused.text('error')).toContain('half of a surrogate pair');
  }
  const made = await service.call('POST', '/users', {
    headers: api,
    rawBody: '{"username":"c\\ud83d\\ude00"}',
  });
  expect([made.status, made.at('username')]).toEqual([201, 'c😀']);
});

test.each([
  ['POST', '/api/servers', {}],
  ['POST', '/users', {}],
  ['POST', '/2023-12/users', {}],
  ['POST', '/workflows', { definition: { trigger: { type: 'manual' }, steps: [{ stepId: 'a', map: '1' }] } }],
])('%s %s refuses control characters in names', async (method, path, more) => {
  for (const bad of ['a\u0000b', 'a\nb', 'a\u001b[31mb', 'a\u2028b']) {
    const body = { ...more, [path.endsWith('users') ? 'username' : 'name']: bad };
    const refused = await service.call(method, path, { headers: api, body });
    expect([refused.status, refused.text('error')]).toEqual([
      400,
      expect.stringContaining('must not hold control characters'),
    ]);
  }
});

test('addresses that differ only in the case of scheme and host are equal', async () => {
  const path = `/2023-03/one/webhooks?connectionId=${service.connectionId}`;
  const to = (address: string) => service.call('POST', path, { body: { address, scope: 'commerce/orders' } });
  const first = await to('HTTPS://LocalHost:4443/Hooks?Key=A');
  expect([first.status, first.at('address')]).toEqual([201, 'https://localhost:4443/Hooks?Key=A']);
  const again = await to('https://LOCALHOST:4443/Hooks?Key=A');
  expect([again.status, again.at('code')]).toEqual([409, 'subscription_exists']);
  expect((await to('https://localhost:4443/hooks?Key=A')).status).toBe(201);
});

test('a connector lists the OAuth scopes of its sign-in', async () => {
  await using plain = await startService();
  const sandbox = await plain.call('GET', '/connectors/sandbox', { headers: api });
  const metadata = await plain.call('GET', '/connectors/sandbox/credentials/metadata', { headers: api });
  expect(sandbox.at('scopes')).toEqual(expect.arrayContaining([expect.any(String)]));
  expect(JSON.stringify(metadata.body)).toContain(JSON.stringify(sandbox.at('scopes')).slice(1, -1));
});
