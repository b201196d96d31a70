import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

async function userOf(service: Service, username: string) {
  const userId = (await service.call('POST', '/users', { body: { username } })).text('userId');
  const jwt = (await service.call('GET', `/2023-12/user/${userId}/token`)).text('token');
  return { userId, jwt };
}

describe('the REST limit of users', () => {
  let service: Service;
  let ada: Awaited<ReturnType<typeof userOf>>;
  beforeAll(async () => {
    service = await startService({ env: { GATEHOUSE_RATE_LIMIT_USERS: '3/60s' } });
    ada = await userOf(service, 'ada');
  });
  afterAll(() => service.stop());

  test('the REST limit of a user rejects a fourth call and counts rejected calls', async () => {
    const call = (path: string) => service.call('GET', path, { bearer: ada.jwt });
    const limits = (headers: Headers) =>
      ['ratelimit-limit', 'ratelimit-remaining'].map((name) => headers.get(name));
    const listed = await call('/api/servers');
    expect([listed.status, ...limits(listed.headers)]).toEqual([200, '3', '2']);
    const absent = await call('/api/servers/srv_0');
    expect([absent.status, ...limits(absent.headers)]).toEqual([404, '3', '1']);
    await call('/api/servers');
    const refused = await call('/api/servers');
    expect([refused.status, refused.text('code'), ...limits(refused.headers)]).toEqual([
      429,
      'rate_limited',
      '3',
      '0',
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('retry-after')).toBe(refused.headers.get('ratelimit-reset'));
    expect(refused.text('error')).toContain('Try again in');
  });

  test('the REST limit counts all JWTs of a user together, and each user separately', async () => {
    const { userId, jwt } = await userOf(service, 'bob');
    const second = (await service.call('GET', `/2023-12/user/${userId}/token`)).text('token');
    const statuses: number[] = [];
    for (const bearer of [jwt, second, jwt, second])
      statuses.push((await service.call('GET', '/api/servers', { bearer })).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  test('the REST limit of users does not apply to API keys', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => service.call('GET', '/api/servers')));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(answers[0]?.headers.get('ratelimit-limit')).toBeNull();
  });
});

describe.each(STORE_KINDS)('on %s', (kind) => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ kind });
  });
  afterAll(() => service.stop());
  const make = (bearer: string, name: string) =>
    service.call('POST', '/api/servers', { bearer, body: { name } });

  test('JWTs of a user create at most 20 servers, also at the same time', async () => {
    const ada = await userOf(service, 'ada');
    const answers = await Promise.all(
      Array.from({ length: 25 }, (_, number) => make(ada.jwt, `ada ${number}`)),
    );
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.map((one) => [one.status, one.text('code'), one.at('details.limit')])).toEqual(
      Array.from({ length: 5 }, () => [409, 'limit_reached', 20]),
    );
    const listed = await service.call('GET', '/api/servers', { bearer: ada.jwt });
    expect(listed.at('count')).toBe(20);

    await service.call('DELETE', `/api/servers/${listed.text('servers.0.serverId')}`, { bearer: ada.jwt });
    expect((await make(ada.jwt, 'ada again')).status).toBe(201);
    expect((await make(ada.jwt, 'ada too many')).status).toBe(409);
  });

  test('the limit ignores other users and servers of an API key', async () => {
    const bob = await userOf(service, 'bob');
    for (const name of ['bob 1', 'bob 2']) {
      const made = await service.call('POST', '/api/servers', {
        headers: { 'x-svc-userid': bob.userId },
        body: { name },
      });
      expect(made.status).toBe(201);
    }
    expect((await make(bob.jwt, 'bob 3')).status).toBe(201);
  });
});

describe('entries of a list of actions', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.stop());
  const tooMany = { actions: { blockedActions: ['*.*_*', '*a*b*c*d*'] } };
  const rule = 'must hold at most 4 `*`';

  test('an action pattern with five stars is rejected for servers and environments', async () => {
    const server = await service.call('POST', '/api/servers', {
      body: { name: 'stars', restrictions: tooMany },
    });
    expect([server.status, server.at('details.faults')]).toEqual([
      400,
      [{ field: 'restrictions.actions.blockedActions.1', rule }],
    ]);
    const settings = await service.call('PUT', '/api/settings', {
      body: { userServerRestrictions: tooMany },
    });
    expect([settings.status, settings.at('details.faults')]).toEqual([
      400,
      [{ field: 'userServerRestrictions.actions.blockedActions.1', rule }],
    ]);
  });

  test('a list of actions has at most 1,000 entries', async () => {
    const refused = await service.call('POST', '/api/servers', {
      body: { name: 'many', restrictions: { actions: { allowedActions: Array(1001).fill('a') } } },
    });
    expect(refused.status).toBe(400);
    expect(refused.text('error')).toContain('restrictions.actions.allowedActions');
  });
});
