import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startService, type CallOptions, type Service } from '../support/service.ts';
import { GOOD_KEY, OPEN, SHOP, startThirdParty, type ThirdParty } from '../support/third-party.ts';

let folder: string;
let service: Service;
let party: ThirdParty;
let userId: string;
let credentialId: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-connectors-'));
  for (const [id, text] of Object.entries({ shop: SHOP, open: OPEN })) {
    mkdirSync(join(folder, id));
    writeFileSync(join(folder, id, 'connector.yaml'), text);
  }
  party = await startThirdParty();
  service = await startService({ catalogFolder: folder });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  credentialId = (await create()).text('credentialId');
});
afterAll(async () => {
  await service.stop();
  await party[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  party.answer = undefined;
  party.seen.length = 0;
});

const call = (method: string, path: string, options: CallOptions = {}) =>
  service.call(method, path, { ...options, headers: { 'x-svc-userid': userId, ...options.headers } });
const create = (body: object = {}) =>
  call('POST', `/users/${userId}/credentials`, {
    body: { connectorId: 'shop', data: { apiKey: GOOD_KEY, origin: party.origin }, ...body },
  });
const execute = (actionId: string, body: object, headers: Record<string, string> = {}) =>
  call('POST', `/connectors/shop/actions/${actionId}/execute`, { body, headers });

describe('connectors', () => {
  test('connectors are listed with the facts for a choice', async () => {
    const answer = await service.call('GET', '/connectors');
    expect(answer.body).toMatchObject({
      data: [
        { connectorId: 'open', authentication: ['none'] },
        {
          connectorId: 'shop',
          name: 'Shop',
          description: 'A third party of the tests.',
          categories: ['commerce'],
          iconUrl: `${service.url}/connectors/shop/icon.svg`,
          website: 'https://shop.example.com',
          authentication: ['api_key'],
          actionCount: 11,
          scopes: [],
        },
      ],
      pagination: { hasMore: false },
    });
  });

  test('connectors are found by category and by words, and paged', async () => {
    const ids = async (query: string) => {
      const { body } = await service.call('GET', `/connectors?${query}`);
      return body;
    };
    expect(await ids('category=data')).toMatchObject({ data: [{ connectorId: 'open' }] });
    expect(await ids('search=TESTS%20shop')).toMatchObject({ data: [{ connectorId: 'shop' }] });
    expect(await ids('search=nothing')).toEqual({ data: [], pagination: { hasMore: false } });
    expect(await ids('limit=1')).toMatchObject({
      data: [{ connectorId: 'open' }],
      pagination: { hasMore: true, nextOffset: 1 },
    });
  });

  test.each(['limit=0', 'limit=51', 'limit=x', 'offset=-1', 'unknown=1', 'limit=1&limit=2'])(
    'connectors with ?%s are a 400 that names the parameter',
    async (query) => {
      const answer = await service.call('GET', `/connectors?${query}`);
      expect(answer.status).toBe(400);
      expect(answer.text('error')).toContain(query.split('=')[0]);
    },
  );

  test('connectors are read with their actions, and an action with its schemas', async () => {
    const connector = await service.call('GET', '/connectors/shop');
    expect(connector.at('actions.0')).toEqual({
      actionId: 'get_me',
      name: 'Get me',
      description: 'The account.',
      effect: 'read',
      list: false,
    });
    const action = await service.call('GET', '/connectors/shop/actions/list_cursor');
    expect(action.body).toMatchObject({
      connectorId: 'shop',
      actionId: 'list_cursor',
      list: true,
      pagination: { style: 'cursor' },
      inputSchema: {
        properties: { limit: { maximum: 50 }, offset: { minimum: 0 }, color: { type: 'string' } },
      },
      outputSchema: { required: ['data', 'pagination'] },
    });
    const page = await service.call('GET', '/connectors/shop/actions?limit=2&offset=10');
    expect(page.body).toMatchObject({
      data: [
        { actionId: 'delete_thing', effect: 'destructive', pagination: null },
        { actionId: 'request', raw: true },
      ],
      pagination: { hasMore: false },
    });
    expect((await service.call('GET', '/connectors/nope')).text('code')).toBe('connector_not_found');
    expect((await service.call('GET', '/connectors/shop/actions/nope')).text('code')).toBe(
      'action_not_found',
    );
  });

  test('connectors return the forms of their credentials', async () => {
    const answer = await service.call('GET', '/connectors/shop/credentials/metadata');
    expect(answer.body).toMatchObject({
      connectorId: 'shop',
      authentication: [
        { type: 'api_key', inputSchema: { required: ['apiKey', 'origin'] }, docsUrl: expect.any(String) },
      ],
    });
  });

  test('connectors have an icon that needs no key', async () => {
    const answer = await service.call('GET', '/connectors/shop/icon.svg', { bearer: null });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('image/svg+xml');
    expect(answer.headers.get('cache-control')).toContain('max-age');
    expect(answer.body).toMatch(/^<svg .*#0f766e.*>S<\/text><\/svg>$/);
  });

  test('connectors need x-api-version', async () => {
    const paths = [
      '/connectors',
      '/connectors/shop',
      '/connectors/shop/actions',
      `/users/${userId}/credentials`,
    ];
    for (const path of paths) {
      const missing = await call('GET', path, { headers: { 'x-api-version': '' } });
      expect(missing.text('code')).toBe('api_version_missing');
      const old = await call('GET', path, { headers: { 'x-api-version': '2024-01' } });
      expect(old.text('code')).toBe('api_version_unsupported');
    }
  });
});

describe('credentials', () => {
  test('credentials are created, listed, read, renamed, checked and deleted', async () => {
    const data = { apiKey: party.otherKey(), origin: party.origin };
    const made = await create({ name: 'Second', data });
    expect(made.status).toBe(201);
    const id = made.text('credentialId');
    expect(made.body).toEqual({
      credentialId: id,
      connectionId: id,
      userId,
      connectorId: 'shop',
      type: 'api_key',
      name: 'Second',
      state: 'active',
      account: { id: '78', name: 'Shop 78' },
      default: false,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      lastUsedAt: null,
    });
    const path = `/users/${userId}/credentials/${id}`;
    expect((await call('GET', path)).body).toEqual(made.body);
    expect(
      (await call('GET', `/users/${userId}/credentials?connectorId=shop`)).at('data.1.credentialId'),
    ).toBe(id);
    expect((await call('PUT', path, { body: { name: 'Renamed' } })).at('name')).toBe('Renamed');
    expect((await call('POST', `${path}/check`)).body).toMatchObject({ state: 'active', checked: true });
    expect((await call('DELETE', path)).body).toEqual({ message: expect.any(String), credentialId: id });
    expect((await call('GET', path)).text('code')).toBe('credential_not_found');
  });

  test('credentials are 403 by another user’s header, 404 by id, and never sent', async () => {
    const other = (await service.call('POST', '/users', { body: { username: 'bob' } })).text('userId');
    const crossed = await call('POST', `/users/${userId}/credentials`, {
      body: { connectorId: 'shop', data: { apiKey: GOOD_KEY, origin: party.origin } },
      headers: { 'x-svc-userid': other },
    });
    expect(crossed.status).toBe(403);
    const foreign = await execute(
      'get_thing',
      { credentialId, input: { thingId: '1' } },
      { 'x-svc-userid': other },
    );
    const absent = await execute(
      'get_thing',
      { credentialId: 'cred_0000000000000000000000', input: { thingId: '1' } },
      { 'x-svc-userid': other },
    );
    expect([foreign.status, absent.status]).toEqual([404, 404]);
    expect(foreign.text('error').replace(credentialId, '')).toBe(
      absent.text('error').replace('cred_0000000000000000000000', ''),
    );
    expect(party.seen).toEqual([]);
  });

  test('credentials need a user that exists', async () => {
    const path = `/users/${userId}/credentials`;
    const missing = await call('GET', path, { headers: { 'x-svc-userid': '' } });
    expect([missing.status, missing.at('code')]).toEqual([400, 'user_id_missing']);
    const unknown = await call('GET', path, { headers: { 'x-svc-userid': 'usr_none' } });
    expect([unknown.status, unknown.at('code')]).toEqual([404, 'user_not_found']);
  });

  test('credentials that the third party rejects are 409, without a secret in the answer', async () => {
    const answer = await create({ data: { apiKey: 'wrong_key_never_shown', origin: party.origin } });
    expect([answer.status, answer.at('code'), answer.at('details.reason')]).toEqual([
      409,
      'credential_invalid',
      'refused',
    ]);
    expect(JSON.stringify([answer.body, service.logged])).not.toContain('wrong_key_never_shown');
  });
});

describe('running an action', () => {
  test('an action answers with its value, and a list with data and pagination', async () => {
    expect((await execute('get_thing', { input: { thingId: '9' } })).body).toEqual({ data: { id: '9' } });
    const list = await execute('list_page', {
      actionId: 'list_page',
      credentialId,
      input: { limit: 50, offset: 100 },
    });
    expect(list.body).toMatchObject({ data: { length: 20 }, pagination: { hasMore: false } });
    const first = await execute('list_page', { input: { limit: 2 } });
    expect(first.body).toEqual({
      data: [
        { id: 1, label: 'thing 1' },
        { id: 2, label: 'thing 2' },
      ],
      pagination: { hasMore: true, nextOffset: 2 },
    });
  });

  test.each([
    [{ input: { thingId: 5 } }, 'thingId'],
    [{ input: {} }, 'thingId'],
    [{ input: [] }, 'input'],
    [{ input: { thingId: '5' }, actionId: 'list_page' }, 'actionId'],
    [{ input: { thingId: '5' }, extra: true }, 'extra'],
    [{ input: { thingId: '..' } }, 'thingId'],
  ])('an action refuses %j with 400 and names the field', async (body, field) => {
    const answer = await execute('get_thing', body);
    expect([answer.status, answer.at('code')]).toEqual([400, 'invalid_request']);
    expect(answer.text('error')).toContain(field);
    expect(party.seen).toEqual([]);
  });

  test('an action returns the error of the third party', async () => {
    party.answer = () => ({ status: 422, body: { message: `no, ${GOOD_KEY}` } });
    const refused = await execute('create_thing', { input: { label: 'a' } });
    expect([refused.status, refused.at('code'), refused.at('details.status')]).toEqual([
      422,
      'upstream_rejected',
      422,
    ]);
    expect(JSON.stringify(refused.body)).not.toContain(GOOD_KEY);
    party.answer = () => ({ status: 500 });
    expect((await execute('create_thing', { input: { label: 'a' } })).status).toBe(502);
  });

  test('an action with a repeated Idempotency-Key returns the first answer', async () => {
    const key = { 'idempotency-key': 'rest-1' };
    const first = await execute('create_thing', { input: { label: 'a' } }, key);
    const again = await execute('create_thing', { input: { label: 'a' } }, key);
    expect(again.body).toEqual(first.body);
    expect([first.headers.get('idempotency-replayed'), again.headers.get('idempotency-replayed')]).toEqual([
      null,
      'true',
    ]);
    const conflict = await execute('create_thing', { input: { label: 'b' } }, key);
    expect([conflict.status, conflict.at('code')]).toEqual([409, 'idempotency_conflict']);
    expect(party.seen).toHaveLength(1);
    const released = Promise.withResolvers<void>();
    party.answer = () => ({ status: 201, body: {}, after: released.promise });
    const slow = execute('create_thing', { input: { label: 'a' } }, { 'idempotency-key': 'rest-2' });
    await expect.poll(() => party.seen.length).toBe(2);
    const busy = await execute('create_thing', { input: { label: 'a' } }, { 'idempotency-key': 'rest-2' });
    expect([busy.status, busy.at('code')]).toEqual([409, 'idempotency_in_progress']);
    expect(Number(busy.headers.get('retry-after'))).toBeGreaterThan(0);
    released.resolve();
    expect((await slow).status).toBe(200);
    const long = await execute(
      'create_thing',
      { input: { label: 'a' } },
      { 'idempotency-key': 'x'.repeat(256) },
    );
    expect(long.status).toBe(400);
  });
});

describe('GET /api/executions', () => {
  test('GET /api/executions shows each decision, filtered and paged', async () => {
    await execute('create_thing', { input: { label: 'seen' } });
    const answer = await service.call(
      'GET',
      `/api/executions?userId=${userId}&actionId=create_thing&outcome=succeeded&limit=1`,
    );
    expect(answer.at('data.0')).toEqual({
      executionId: expect.stringMatching(/^exe_/),
      at: expect.any(String),
      requestId: expect.any(String),
      caller: expect.stringMatching(/^key:/),
      serverId: null,
      userId,
      connectorId: 'shop',
      actionId: 'create_thing',
      credentialId,
      outcome: 'succeeded',
      rule: null,
      errorCode: null,
      upstreamStatus: 201,
      durationMs: expect.any(Number),
      programId: null,
      undoOf: null,
      undoneBy: null,
    });
    const next = answer.text('pagination.nextCursor');
    const second = await service.call('GET', `/api/executions?actionId=create_thing&limit=1&cursor=${next}`);
    expect(second.at('data.0.executionId')).not.toBe(answer.at('data.0.executionId'));
    expect(
      (await service.call('GET', '/api/executions', { bearer: service.productionKey })).at('data'),
    ).toEqual([]);
    const past = await service.call('GET', '/api/executions?to=2020-01-01T00:00:00Z');
    expect(past.at('data')).toEqual([]);
  });

  test.each(['offset=10001', 'limit=51', 'cursor=zzz', 'outcome=maybe', 'from=yesterday', 'user=x'])(
    'GET /api/executions?%s is a 400 that names the parameter',
    async (query) => {
      const answer = await service.call('GET', `/api/executions?${query}`);
      expect(answer.status).toBe(400);
      expect(answer.text('error')).toContain(query.split('=')[0]);
    },
  );
});

test('the log contains no secret of a credential', () => {
  expect(service.logged.join('')).not.toContain(GOOD_KEY);
});
