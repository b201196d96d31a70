import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Route } from '../../src/http/server/route.ts';
import { ROUTES } from '../../src/http/routes/routes.ts';
import { isJsonObject } from '../../src/lib/json.ts';
import { startService, type Service } from '../support/service.ts';

/* Requests with unexpected members are rejected, and a short input cannot cause a long answer. */
let service: Service;
let userId: string;
let jwt: string;

beforeAll(async () => {
  service = await startService();
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  jwt = (await service.call('GET', `/2023-12/user/${userId}/token`)).text('token');
});
afterAll(() => service.stop());

describe('a route without a body', () => {
  const bare = ROUTES.filter(({ method, spec }) => method !== 'GET' && !spec.body && !spec.rawBody);
  test.each(bare.map((route): [string, Route] => [`${route.method} ${route.path}`, route]))(
    '%s refuses a member by its name',
    async (_, { method, path, spec }) => {
      const filled = path.replaceAll('{version}', '1').replaceAll(/\{\w+\}/g, userId);
      const query = spec.query && JSON.stringify(z.toJSONSchema(spec.query)).includes('"userId"');
      const answer = await service.call(method, `${filled}${query ? `?userId=${userId}` : ''}`, {
        bearer: spec.auth.startsWith('jwt') ? jwt : service.developmentKey,
        body: { surprising: true },
        headers: spec.user === undefined ? {} : { 'x-svc-userid': userId },
      });
      expect(answer).toMatchObject({
        status: 400,
        body: {
          details: {
            faults: [{ field: 'surprising', rule: expect.stringContaining('is not a known member') }],
          },
        },
      });
    },
  );

  test('a rotation of keys rejects a body, and every key stays valid', async () => {
    const refused = await service.call('POST', '/api/keys/rotate', { body: { environment: 'production' } });
    expect(refused).toMatchObject({
      status: 400,
      body: {
        details: {
          faults: [{ field: 'environment', rule: expect.stringContaining('is not a known member') }],
        },
      },
    });
    for (const bearer of [service.developmentKey, service.productionKey])
      expect((await service.call('GET', '/api/servers', { bearer })).status).toBe(200);
  });

  test('a route without a body accepts an empty object', async () => {
    const rotated = await service.call('POST', '/api/keys/rotate', {
      bearer: service.productionKey,
      body: {},
    });
    expect(rotated.at('environment')).toBe('production');
  });
});

test('at most fifty faults are listed, with the number of the others', async () => {
  const body = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`unknown_${at}`, at]));
  const answer = await service.call('POST', '/users', { body: { username: 'eve', ...body } });
  expect(answer.status).toBe(400);
  const { details } = isJsonObject(answer.body) ? answer.body : {};
  expect(details).toMatchObject({ faults: { length: 50 }, moreFaults: 850 });
  expect(JSON.stringify(answer.body).length).toBeLessThan(10_000);
});

describe('a body is refused before it is parsed', () => {
  const named = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`member_${at}`, at]));

  test('a body with an object of more than 1,000 members is refused', async () => {
    const answer = await service.call('POST', '/users', { body: { username: 'eve', ...named(1000) } });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: 'The body has an object of more than 1,000 members. Send it in parts.' },
    });
  });

  test('a body with more than 20,000 values outside of free-form members is refused', async () => {
    const answer = await service.call('POST', '/api/servers', {
      body: { name: 'wide', tools: Array.from({ length: 20_000 }, () => ({})) },
    });
    expect(answer.status).toBe(400);
    expect(answer.text('error')).toMatch(/^The body holds more than 20,000 values outside/);
  });

  test('a body with more than 200,000 values in all is refused', async () => {
    const answer = await service.call('POST', '/connectors/sandbox/actions/list_customers/execute', {
      body: { input: { list: Array.from({ length: 200_000 }, () => 0) } },
      headers: { 'x-svc-userid': userId },
    });
    expect(answer.status).toBe(400);
    expect(answer.text('error')).toMatch(/^The body holds more than 200,000 values\./);
  });
});

test('the metadata of a user may have more than 1,000 members', async () => {
  const metadata = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`m${at}`, '"\\[{,']));
  expect((await service.call('PUT', `/users/${userId}`, { body: { metadata } })).status).toBe(200);
});

test('a fault quotes only the start of a long name', async () => {
  const answer = await service.call('POST', '/users', {
    body: { username: 'eve', ['x'.repeat(500_000)]: 1 },
  });
  expect(answer.status).toBe(400);
  expect(JSON.stringify(answer.body).length).toBeLessThan(2000);
});

test('the metadata of a user is at most 64 KiB', async () => {
  const most = 64 * 1024;
  const holding = (bytes: number) => ({ note: 'x'.repeat(bytes - '{"note":""}'.length) });
  const put = (metadata: object) => service.call('PUT', `/users/${userId}`, { body: { metadata } });
  expect((await put(holding(most))).status).toBe(200);
  const refused = await put(holding(most + 1));
  expect(refused).toMatchObject({
    status: 400,
    body: { details: { faults: [{ field: 'metadata', rule: 'must be 64 KiB at most' }] } },
  });
  const made = await service.call('POST', '/users', {
    body: { username: 'full', metadata: { note: 'é'.repeat(most / 2) } },
  });
  expect(made.status).toBe(400);
});

test('a token in place of an id is in neither the audit log nor the executions', async () => {
  const made = await service.call('POST', '/api/servers', { body: { name: 'Audited' } });
  const token = made.text('accessToken');
  const wrong = [token, service.developmentKey, jwt, made.text('accessUrl')];
  for (const one of wrong) {
    const id = encodeURIComponent(one);
    await service.call('DELETE', `/api/servers/${id}`);
    await service.call('POST', `/connectors/${id}/actions/${id}/execute`, {
      body: { input: {} },
      headers: { 'x-svc-userid': userId },
    });
  }
  await service.context.executions.flush();
  const records = JSON.stringify([
    (await service.call('GET', '/api/audit')).body,
    (await service.call('GET', '/api/executions')).body,
  ]);
  expect(records).toContain('gh_mcp_***');
  expect(records).toContain('deleteServer');
  for (const one of wrong) expect(records).not.toContain(one.slice(-20));
});
