import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openContext } from '../../src/context.ts';
import { readConfig } from '../../src/config.ts';
import { listen } from '../../src/app.ts';
import { DAY, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { createLog } from '../../src/log.ts';
import { manualClock, SHORT_INTERVALS } from '../support/clock.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { until } from '../support/until.ts';

const auditRows = z.array(
  z.object({ operation: z.string(), target: z.string().nullable(), keyName: z.string().nullable() }),
);

/** Creates a key and returns its id and secret. */
async function newKey(service: Service, scopes: string[], more: Record<string, unknown> = {}) {
  const body = { name: `key ${Math.random()}`, scopes, ...more };
  const made = await service.call('POST', '/api/keys', { body });
  expect(made.status).toBe(201);
  return { keyId: made.text('keyId'), key: made.text('key'), made };
}

const statusOf = async (service: Service, bearer: string, path = '/api/servers') =>
  (await service.call('GET', path, { bearer })).status;

describe.each(STORE_KINDS)('named keys on %s', (kind) => {
  const clock = manualClock();
  let service: Service;
  beforeAll(async () => {
    service = await startService({ kind, clock });
  });
  afterAll(() => service.stop());

  test('a key has its scopes and no others, and its secret is shown once', async () => {
    const { key, keyId, made } = await newKey(service, ['servers:read', 'servers:read']);
    expect(key).toMatch(/^gh_dev_\w{49}$/);
    expect(made.body).toMatchObject({
      kind: 'named',
      scopes: ['servers:read'],
      lastFour: key.slice(-4),
      expiresAt: null,
      lastUsedAt: null,
      status: 'active',
    });
    expect(await statusOf(service, key)).toBe(200);
    const refused = await service.call('POST', '/api/servers', { bearer: key, body: { name: 'no' } });
    expect([refused.status, refused.at('details.scope')]).toEqual([403, 'servers:write']);
    const listed = await service.call('GET', '/api/keys');
    expect(JSON.stringify(listed.body)).not.toContain(key);
    expect(JSON.stringify(listed.body)).toContain(keyId);
    const rows = await service.context.db.selectFrom('api_keys').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(key);
  });

  test('the list marks the key of its environment and has no key of the other one', async () => {
    const own = await service.call('POST', '/api/keys', {
      bearer: service.productionKey,
      body: { name: 'only production', scopes: ['servers:read'] },
    });
    const listed = await service.call('GET', '/api/keys');
    expect(listed.at('data')).toContainEqual(
      expect.objectContaining({ keyId: 'key_development', kind: 'environment', name: 'development' }),
    );
    expect(JSON.stringify(listed.body)).not.toContain(own.text('keyId'));
    for (const [method, path] of [
      ['DELETE', `/api/keys/${own.text('keyId')}`],
      ['POST', `/api/keys/${own.text('keyId')}/rotate`],
    ] as const) {
      const answer = await service.call(method, path);
      expect([answer.status, answer.text('code')]).toEqual([404, 'key_not_found']);
    }
    expect(await statusOf(service, own.text('key'))).toBe(200);
  });

  test('a key without servers:token gets no access token of a server that it makes', async () => {
    const writer = await newKey(service, ['servers:write', 'servers:read']);
    const body = { name: 'made by a deploy' };
    const made = await service.call('POST', '/api/servers', { bearer: writer.key, body });
    expect([made.status, made.at('accessToken')]).toEqual([201, null]);
    expect(made.text('accessUrl')).toMatch(/\/\*\*\*$/);
    const path = `/api/servers/${made.text('serverId')}`;
    const changed = await service.call('PUT', path, { bearer: writer.key, body: { name: 'changed' } });
    for (const { body: answer } of [made, changed, await service.call('GET', path, { bearer: writer.key })])
      expect(JSON.stringify(answer)).not.toContain('gh_mcp_');
    expect((await service.call('POST', `${path}/token`, { bearer: writer.key, body: {} })).status).toBe(403);
    const holder = await newKey(service, ['servers:write', 'servers:token']);
    const own = await service.call('POST', '/api/servers', { bearer: holder.key, body: { name: 'own' } });
    const rotated = await service.call('POST', `${path}/token`, { bearer: holder.key, body: {} });
    for (const { at } of [own, rotated]) expect(at('accessToken')).toMatch(/^gh_mcp_/);
  });

  test('an unknown scope is 400 with the list of scopes', async () => {
    const answer = await service.call('POST', '/api/keys', {
      body: { name: 'wrong', scopes: ['servers:read', 'servers:all'] },
    });
    expect(answer.status).toBe(400);
    expect(answer.text('details.faults.0.field')).toBe('scopes.1');
    expect(answer.text('error')).toContain('servers:write');
  });

  test('a taken name is 409 without regard to case, and free after a revocation', async () => {
    const body = { name: 'Deploy', scopes: ['servers:read'] };
    const first = await service.call('POST', '/api/keys', { body });
    const again = await service.call('POST', '/api/keys', { body: { ...body, name: 'deploy' } });
    expect([again.status, again.text('code')]).toEqual([409, 'key_exists']);
    expect((await service.call('DELETE', `/api/keys/${first.text('keyId')}`)).status).toBe(200);
    expect((await service.call('POST', '/api/keys', { body })).status).toBe(201);
  });

  test.each(['development', 'Production'])('the name %s is refused', async (name) => {
    const answer = await service.call('POST', '/api/keys', { body: { name, scopes: ['servers:read'] } });
    expect([answer.status, answer.text('code')]).toEqual([400, 'invalid_request']);
  });

  test('a key gives only scopes that it has, and reaches no key with more', async () => {
    const { key } = await newKey(service, ['keys:write', 'keys:read', 'servers:read']);
    const wide = await newKey(service, ['servers:write']);
    const less = await service.call('POST', '/api/keys', {
      bearer: key,
      body: { name: 'less', scopes: ['servers:read'] },
    });
    expect(less.status).toBe(201);
    const refusals = [
      await service.call('POST', '/api/keys', {
        bearer: key,
        body: { name: 'more', scopes: ['servers:read', 'servers:write'] },
      }),
      await service.call('POST', `/api/keys/${wide.keyId}/rotate`, { bearer: key }),
      await service.call('POST', '/api/keys/rotate', { bearer: key }),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(refusals[0]?.at('details.scopes')).toEqual(['servers:write']);
    expect(await statusOf(service, wide.key)).toBe(403);
    expect(await statusOf(service, service.developmentKey)).toBe(200);
  });

  test('a key expires, and creates no key that lives longer', async () => {
    const { key, keyId } = await newKey(service, ['keys:write', 'servers:read'], { expiresInDays: 1 });
    const heir = await service.call('POST', '/api/keys', {
      bearer: key,
      body: { name: 'heir', scopes: ['servers:read'], expiresInDays: 30 },
    });
    const lasting = await newKey(service, ['servers:read']);
    const rotated = await service.call('POST', `/api/keys/${lasting.keyId}/rotate`, { bearer: key });
    expect([rotated.status, rotated.text('code')]).toEqual([403, 'forbidden']);
    expect(await statusOf(service, key)).toBe(200);
    clock.advance(DAY);
    expect([await statusOf(service, key), await statusOf(service, heir.text('key'))]).toEqual([401, 401]);
    const listed = await service.call('GET', '/api/keys');
    const states = new Map(
      z
        .array(z.object({ keyId: z.string(), status: z.string() }))
        .parse(listed.at('data'))
        .map((one) => [one.keyId, one.status]),
    );
    expect(states.get(keyId)).toBe('expired');
    expect(states.get(lasting.keyId)).toBe('active');
  });

  test('after a rotation both secrets are valid until the overlap ends', async () => {
    const { key: old, keyId } = await newKey(service, ['servers:read', 'keys:write']);
    const rotated = await service.call('POST', `/api/keys/${keyId}/rotate`, { body: { overlapSeconds: 60 } });
    const key = rotated.text('key');
    expect(rotated.text('previousExpiresAt')).toBe(new Date(clock.now() + MINUTE).toISOString());
    expect([await statusOf(service, old), await statusOf(service, key)]).toEqual([200, 200]);
    const again = await service.call('POST', `/api/keys/${keyId}/rotate`, { body: { overlapSeconds: 60 } });
    expect([again.status, again.text('code')]).toEqual([409, 'key_rotating']);
    // The earlier secret is about to end, so it must not give its holder a new one.
    const byOld = await service.call('POST', `/api/keys/${keyId}/rotate`, { bearer: old });
    expect(byOld.status).toBe(403);
    clock.advance(MINUTE);
    expect([await statusOf(service, old), await statusOf(service, key)]).toEqual([401, 200]);
  });

  test('the earlier secret is ended during the overlap, and the new one stays', async () => {
    const { key, keyId } = await newKey(service, ['servers:read']);
    const path = `/api/keys/${keyId}/previous-secret`;
    expect((await service.call('DELETE', path)).at('previousExpiresAt')).toBeNull();
    const rotated = await service.call('POST', `/api/keys/${keyId}/rotate`, {
      body: { overlapSeconds: 3600 },
    });
    expect(await statusOf(service, key)).toBe(200);
    expect((await service.call('DELETE', path)).body).toMatchObject({
      lastFour: rotated.text('key').slice(-4),
      previousExpiresAt: null,
    });
    expect(await statusOf(service, key)).toBe(401);
    expect(await statusOf(service, rotated.text('key'))).toBe(200);
    const environment = await service.call('DELETE', '/api/keys/key_development/previous-secret');
    expect([environment.status, environment.text('code')]).toEqual([409, 'environment_key']);
  });

  test('a rotation without an overlap ends all earlier secrets at once', async () => {
    const { key: first, keyId } = await newKey(service, ['servers:read']);
    const second = await service.call('POST', `/api/keys/${keyId}/rotate`, { body: { overlapSeconds: 600 } });
    const third = await service.call('POST', `/api/keys/${keyId}/rotate`);
    const bearers = [first, second.text('key'), third.text('key')];
    const statuses = await Promise.all(bearers.map((bearer) => statusOf(service, bearer)));
    expect(statuses).toEqual([401, 401, 200]);
  });

  test('one rotation among several at once returns the key, and the others are 409', async () => {
    const { key: old, keyId } = await newKey(service, ['servers:read']);
    const answers = await Promise.all(
      Array.from({ length: 4 }, () =>
        service.call('POST', `/api/keys/${keyId}/rotate`, { body: { overlapSeconds: 60 } }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409]);
    const winner = answers.find(({ status }) => status === 200);
    expect(await statusOf(service, winner?.text('key') ?? '')).toBe(200);
    expect(await statusOf(service, old)).toBe(200);
  });

  test('the key of the environment is neither revoked nor rotated by its id', async () => {
    for (const [method, path] of [
      ['DELETE', '/api/keys/key_development'],
      ['POST', '/api/keys/key_development/rotate'],
    ] as const) {
      const answer = await service.call(method, path);
      expect([answer.status, answer.text('code')]).toEqual([409, 'environment_key']);
    }
  });

  test('the last use is stored once a minute, and an ended key is named in the audit log', async () => {
    const { key, keyId, made } = await newKey(service, ['servers:read']);
    const rowOf = () =>
      service.context.db.selectFrom('api_keys').selectAll().where('key_id', '=', keyId).executeTakeFirst();
    const at = clock.now();
    await statusOf(service, key);
    await until(async () => (await rowOf())?.last_used_at === at);
    clock.advance(MINUTE - SECOND);
    await statusOf(service, key);
    clock.advance(SECOND);
    await statusOf(service, key);
    await until(async () => (await rowOf())?.last_used_at === at + MINUTE);

    await service.call('DELETE', `/api/keys/${keyId}`);
    const unknown = await service.call('GET', '/api/servers', { bearer: `${key.slice(0, -1)}x` });
    const revoked = await service.call('GET', '/api/servers', { bearer: key });
    expect([revoked.status, revoked.text('error')]).toEqual([401, unknown.text('error')]);
    const audit = async () =>
      auditRows
        .parse((await service.call('GET', '/api/audit')).at('data'))
        .filter((row) => row.target === keyId);
    await until(async () => (await audit()).length === 3);
    const rows = await audit();
    expect(rows).toContainEqual({ operation: 'createKey', target: keyId, keyName: null });
    expect(rows).toContainEqual({ operation: 'revokeKey', target: keyId, keyName: null });
    expect(rows).toContainEqual({ operation: 'useEndedKey', target: keyId, keyName: made.text('name') });
  });

  test('another process rejects a revoked key within a second', async () => {
    const config = readConfig({ PORT: '0', GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1', ...service.env });
    const log = createLog('error', { write: () => {} });
    const context = await openContext(config, { log, intervals: SHORT_INTERVALS });
    const app = await listen(context);
    try {
      const { key, keyId } = await newKey(service, ['servers:read']);
      const there = async () =>
        (
          await fetch(`http://127.0.0.1:${app.port}/api/servers`, {
            headers: { authorization: `Bearer ${key}` },
          })
        ).status;
      expect(await there()).toBe(200);
      await service.call('DELETE', `/api/keys/${keyId}`);
      await until(async () => (await there()) === 401);
    } finally {
      await app.close();
      await context.close();
    }
  });

  test('a key with mcp:use alone speaks MCP for every user of its environment', async () => {
    const { key } = await newKey(service, ['mcp:use']);
    const { key: without } = await newKey(service, ['servers:read', 'actions:execute']);
    const userId = (await service.call('POST', '/users', { body: { username: `u${Math.random()}` } })).text(
      'userId',
    );
    const made = await service.call('POST', '/api/servers', { body: { name: `mcp ${Math.random()}` } });
    const list = (bearer: string) =>
      service.call('POST', `/mcp/${made.text('serverId')}`, {
        bearer,
        headers: { 'x-svc-userid': userId, accept: 'application/json, text/event-stream' },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      });
    expect((await list(key)).status).toBe(200);
    expect((await list(without)).status).toBe(403);
    expect(await statusOf(service, key)).toBe(403);
  });
});
