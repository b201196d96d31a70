import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { valueAt } from '../../src/lib/json.ts';
import { createBrowser } from '../support/browser.ts';
import { rpc } from '../support/mcp.ts';
import { startService, type Answer, type Service } from '../support/service.ts';
import { startShop, type Shop } from '../support/shop.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { GOOD_KEY, type ThirdParty } from '../support/third-party.ts';

const SECOND_KEY = 'key_of_the_same_account_2';

describe.each(STORE_KINDS)('one account is one credential on %s', (kind) => {
  let shop: Shop;
  let service: Service;
  let party: ThirdParty;
  let userId: string;
  /** A key of a separate account; the other keys are of one account. */
  let otherKey: string;

  beforeAll(async () => {
    shop = await startShop({ kind });
    ({ service, party } = shop);
    party.keys.add(SECOND_KEY);
    otherKey = party.otherKey();
  });
  afterAll(() => shop[Symbol.asyncDispose]());
  beforeEach(async () => {
    party.answer = undefined;
    const username = `ada ${Math.random()}`;
    userId = (await service.call('POST', '/users', { body: { username } })).text('userId');
  });

  const call = (method: string, path: string, body?: object) =>
    service.call(method, path, {
      headers: { 'x-svc-userid': userId },
      ...(body === undefined ? {} : { body }),
    });
  const connect = (apiKey = GOOD_KEY, body: object = {}) =>
    call('POST', `/users/${userId}/credentials`, {
      connectorId: 'shop',
      data: { apiKey, origin: party.origin },
      ...body,
    });
  const change = (credentialId: string, body: object) =>
    call('PUT', `/users/${userId}/credentials/${credentialId}`, body);
  const records = async () => (await call('GET', `/users/${userId}/credentials`)).at('data');
  const run = (body: object = {}) =>
    call('POST', '/connectors/shop/actions/get_me/execute', { input: {}, ...body });
  const keyOfLastCall = () => party.seen.at(-1)?.headers['x-key'];

  test('a second key of an account renews its record', async () => {
    const first = await connect();
    expect(first.status).toBe(201);
    const second = await connect(SECOND_KEY);
    expect([second.status, second.text('credentialId')]).toEqual([200, first.text('credentialId')]);
    expect(second.body).toMatchObject({ name: 'Ada’s shop', state: 'active', account: { id: '77' } });
    expect(await records()).toHaveLength(1);
    expect((await run()).status).toBe(200);
    expect(keyOfLastCall()).toBe(SECOND_KEY);

    const named = await connect(GOOD_KEY, { name: 'Main shop' });
    expect([named.status, named.at('name')]).toEqual([200, 'Main shop']);
    const other = await connect(otherKey);
    expect([other.status, other.at('account.id')]).toEqual([201, '78']);
  });

  test('the account of another user is a separate credential', async () => {
    const first = await connect();
    userId = (await service.call('POST', '/users', { body: { username: `bo ${Math.random()}` } })).text(
      'userId',
    );
    const second = await connect();
    expect(second.status).toBe(201);
    expect(second.at('credentialId')).not.toBe(first.at('credentialId'));
  });

  test('a key entered twice renews its record when the app names no account', async () => {
    const linked = (key: string) =>
      connect('', { connectorId: 'linked', data: { apiKey: key, origin: party.origin } });
    const first = await linked('one');
    expect([first.status, first.at('name')]).toEqual([201, 'Linked']);
    const again = await linked('one');
    expect([again.status, again.at('credentialId')]).toEqual([200, first.at('credentialId')]);
    const other = await linked('two');
    expect([other.status, other.at('name')]).toEqual([201, 'Linked 2']);
    const stored = await service.context.db.selectFrom('credentials').select('account_key').execute();
    expect(JSON.stringify(stored)).not.toContain('"one"');
  });

  test('an account at another address is another account', async () => {
    const first = await connect();
    const data = { apiKey: GOOD_KEY, origin: party.origin.replace('127.0.0.1', 'localhost') };
    const second = await connect(GOOD_KEY, { data });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.at('name')).toBe('Ada’s shop 2');
  });

  test('concurrent requests at two processes end with one record', async () => {
    await using other = await startService({ catalogFolder: shop.catalogFolder, env: service.env });
    const body = { connectorId: 'shop', data: { apiKey: GOOD_KEY, origin: party.origin } };
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        (index % 2 === 0 ? service : other).call('POST', `/users/${userId}/credentials`, {
          bearer: service.developmentKey,
          headers: { 'x-svc-userid': userId },
          body,
        }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(11);
    expect(new Set(answers.map((answer) => answer.at('credentialId'))).size).toBe(1);
    expect(await records()).toHaveLength(1);
  });

  test('a connect link renews the record of the account too', async () => {
    const first = await connect();
    const link = await call('POST', `/users/${userId}/connect-sessions`, { connectors: ['shop'] });
    const browser = createBrowser();
    const opened = await browser.request(`${link.text('url')}/open`, {});
    const sent = await browser.request(
      `${service.url}/connect/sessions/${String(valueAt(opened.body, 'sessionId'))}/credentials`,
      { connectorId: 'shop', type: 'api_key', data: { apiKey: SECOND_KEY, origin: party.origin } },
    );
    expect([sent.status, valueAt(sent.body, 'result.credentialId')]).toEqual([200, first.at('credentialId')]);
    expect(await records()).toHaveLength(1);
  });

  test('a record that needs to be reconnected is active after the account is connected', async () => {
    const credentialId = (await connect()).text('credentialId');
    party.answer = () => ({ status: 401 });
    await call('POST', `/users/${userId}/credentials/${credentialId}/check`, {});
    expect(await records()).toMatchObject([{ credentialId, state: 'needs_reconnect' }]);
    party.answer = undefined;
    expect((await connect(SECOND_KEY)).body).toMatchObject({ credentialId, state: 'active' });
    expect((await run()).status).toBe(200);
  });

  test('a key of an account that another record holds is rejected', async () => {
    const ada = (await connect()).text('credentialId');
    const bo = (await connect(otherKey)).text('credentialId');
    const refused = await change(bo, { data: { apiKey: SECOND_KEY } });
    expect([refused.status, refused.at('code')]).toEqual([409, 'credential_conflict']);
    expect(refused.at('details.credentialId')).toBe(ada);
    expect(await records()).toMatchObject([{ account: { id: '77' } }, { account: { id: '78' } }]);
    expect((await change(ada, { data: { apiKey: SECOND_KEY } })).status).toBe(200);
  });

  test('records of one account without a key stay, and one of them is renewed', async () => {
    const old = (await connect()).text('credentialId');
    const twin = (await connect(otherKey)).text('credentialId');
    const { db } = service.context;
    await db.updateTable('credentials').set({ account_key: null }).where('user_id', '=', userId).execute();
    await db
      .updateTable('credentials')
      .set({ account: JSON.stringify({ id: '77' }), created_at: 1, state: 'needs_reconnect' })
      .where('credential_id', '=', twin)
      .execute();
    for (const key of [SECOND_KEY, GOOD_KEY]) {
      const answer = await connect(key);
      expect([answer.status, answer.at('credentialId')]).toEqual([200, old]);
    }
    expect(await records()).toHaveLength(2);
    // The duplicate still accepts a new key of the same account.
    const put = await change(twin, { data: { apiKey: SECOND_KEY } });
    expect([put.status, put.at('state')]).toEqual([200, 'active']);
  });

  describe('the default', () => {
    let ada: string;
    let bo: string;
    beforeEach(async () => {
      ada = (await connect()).text('credentialId');
      bo = (await connect(otherKey)).text('credentialId');
    });

    test('the default account is none until it is set, and the records show it', async () => {
      expect(await records()).toMatchObject([{ default: false }, { default: false }]);
      const ambiguous = await run();
      expect([ambiguous.status, ambiguous.at('code')]).toEqual([409, 'credential_ambiguous']);
      expect((await change(bo, { default: true })).body).toMatchObject({ credentialId: bo, default: true });
      expect((await run()).status).toBe(200);
      expect(keyOfLastCall()).toBe(otherKey);
      await change(ada, { default: true });
      expect(await records()).toMatchObject([{ default: true }, { default: false }]);
      expect((await run()).status).toBe(200);
      expect(keyOfLastCall()).toBe(GOOD_KEY);
      expect((await run({ credentialId: bo })).status).toBe(200);
      expect(keyOfLastCall()).toBe(otherKey);
      // A renewal keeps the default mark.
      expect((await connect(SECOND_KEY)).body).toMatchObject({ credentialId: ada, default: true });
      await change(ada, { default: false });
      expect((await run()).at('code')).toBe('credential_ambiguous');
    });

    test('the default account stays one when several are set concurrently', async () => {
      const answers: Answer[] = await Promise.all(
        Array.from({ length: 10 }, (_, index) => change(index % 2 === 0 ? ada : bo, { default: true })),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      const rows = await service.context.db
        .selectFrom('credentials')
        .select('is_default')
        .where('user_id', '=', userId)
        .execute();
      expect(rows.map((row) => row.is_default).toSorted()).toEqual([0, 1]);
    });

    test('the default account is used by MCP and by installed workflows', async () => {
      await change(bo, { default: true });
      const server = await service.call('POST', '/api/servers', {
        body: { name: `s ${userId}`, toolMode: 'direct' },
        headers: { 'x-svc-userid': userId },
      });
      const answer = await rpc(server.text('accessUrl'), 'tools/call', {
        name: 'shop_get_me',
        arguments: {},
      });
      expect(JSON.stringify(answer.body)).toContain('Shop 78');
      expect(keyOfLastCall()).toBe(otherKey);
      const listed = await rpc(server.text('accessUrl'), 'tools/call', {
        name: 'list_credentials_svc',
        arguments: {},
      });
      expect(listed.at('result.structuredContent.credentials')).toMatchObject([
        { default: false },
        { default: true },
      ]);

      const steps = [{ stepId: 'me', connectorId: 'shop', actionId: 'get_me', input: {} }];
      const workflow = await service.call('POST', '/workflows', {
        body: { name: `w ${userId}`, definition: { trigger: { type: 'manual' }, steps } },
      });
      const installed = await call(
        'POST',
        `/workflows/${workflow.text('workflowId')}/install?userId=${userId}`,
        {},
      );
      expect([installed.status, installed.at('credentials')]).toEqual([201, { shop: bo }]);
    });

    test('a call is rejected when the default account needs to be reconnected', async () => {
      await change(bo, { default: true });
      party.answer = ({ headers }) => (headers['x-key'] === otherKey ? { status: 401 } : undefined);
      await call('POST', `/users/${userId}/credentials/${bo}/check`, {});
      const before = party.seen.length;
      const refused = await run();
      expect([refused.status, refused.at('code')]).toEqual([409, 'credential_invalid']);
      expect(refused.at('details.credentialId')).toBe(bo);
      expect(refused.at('details.reconnectUrl')).toBeTypeOf('string');
      expect(party.seen.length).toBe(before);
      expect((await run({ credentialId: ada })).status).toBe(200);
    });
  });
});
