import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/lib/clock.ts';
import { manualClock, type ManualClock } from '../support/clock.ts';
import { rpc } from '../support/mcp.ts';
import { openOAuth, runAction } from '../support/oauth.ts';
import type { Service } from '../support/service.ts';
import { startShop, type Shop } from '../support/shop.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { LINKED, SHOP, type Seen, type ThirdParty } from '../support/third-party.ts';

/** An app that names the missing permission. */
const NAMING = SHOP.replace(
  '  message: [message]',
  "  message: [message]\n  needed: ['header:X-Needs', 'body:needed']",
);

/** Like `linked`, without a probe, and with a write action. */
const UNPROBED = `${LINKED}  create_thing:
    description: A new thing.
    request: POST /things
    body:
      label: {type: string, required: true}
`;

describe.each(STORE_KINDS)('a rejected call on %s', (kind) => {
  let shop: Shop;
  let service: Service;
  let party: ThirdParty;
  let clock: ManualClock;
  let userId: string;
  let credentialId: string;

  beforeAll(async () => {
    clock = manualClock();
    shop = await startShop({ kind, clock }, { shop: NAMING, linked: UNPROBED });
    ({ service, party } = shop);
  });
  afterAll(() => shop[Symbol.asyncDispose]());
  beforeEach(async () => {
    party.answer = undefined;
    const body = { username: `ada ${Math.random()}` };
    userId = (await service.call('POST', '/users', { body })).text('userId');
    credentialId = await connect('shop');
    party.seen.length = 0;
  });

  const call = (method: string, path: string, body?: object, headers = {}) =>
    service.call(method, path, {
      headers: { 'x-svc-userid': userId, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const connect = async (connectorId: string) =>
    (
      await call('POST', `/users/${userId}/credentials`, {
        connectorId,
        data: { apiKey: party.otherKey(), origin: party.origin },
      })
    ).text('credentialId');
  const execute = (actionId: string, input: object = {}, headers = {}, connectorId = 'shop') =>
    call('POST', `/connectors/${connectorId}/actions/${actionId}/execute`, { input }, headers);
  const stateOf = async (id = credentialId) =>
    (await call('GET', `/users/${userId}/credentials/${id}`)).at('state');
  const probes = () => party.seen.filter(({ path }) => path === '/me').length;
  /** A key that may read but not write, with the status that the app answers. */
  const readOnly =
    (status: number) =>
    ({ method }: Seen) =>
      method === 'GET' ? undefined : { status, body: { message: 'no write permissions' } };

  test.each([401, 403])(
    'a rejected call with %i of a working account is a missing permission',
    async (status) => {
      party.answer = readOnly(status);
      const refused = await execute('create_thing', { label: 'x' });
      expect([refused.status, refused.at('code')]).toEqual([422, 'upstream_rejected']);
      expect(refused.at('details')).toMatchObject({
        status,
        reason: 'permission',
        message: 'no write permissions',
        credentialId,
      });
      expect(probes()).toBe(1);
      expect(await stateOf()).toBe('active');
      expect((await execute('get_thing', { thingId: '1' })).status).toBe(200);
    },
  );

  test.each([401, 403])('a rejected call with %i of a dead account ends its credential', async (status) => {
    party.answer = () => ({ status, body: { message: 'gone' } });
    const refused = await execute('create_thing', { label: 'x' });
    expect([refused.status, refused.at('code')]).toEqual([409, 'credential_invalid']);
    expect(refused.at('details.reconnectUrl')).toBeTypeOf('string');
    expect(await stateOf()).toBe('needs_reconnect');
    const sent = party.seen.length;
    expect((await execute('get_thing', { thingId: '1' })).at('code')).toBe('credential_invalid');
    expect(party.seen.length).toBe(sent);
  });

  test('a rejected call changes nothing while the app does not answer the probe', async () => {
    party.answer = ({ method, path }) =>
      method === 'POST' ? { status: 401 } : path === '/me' ? { status: 500 } : undefined;
    const refused = await execute('create_thing', { label: 'x' });
    expect([refused.status, refused.at('code')]).toEqual([502, 'upstream_failed']);
    expect(refused.at('details.reason')).toBe('credential_unchecked');
    expect(await stateOf()).toBe('active');
    expect((await execute('get_thing', { thingId: '1' })).status).toBe(200);
  });

  test('rejected calls share one probe for half a minute', async () => {
    const refused = Promise.withResolvers<void>();
    party.answer = ({ method, path }) =>
      method === 'POST'
        ? { status: 401 }
        : path === '/me'
          ? { status: 200, body: {}, after: refused.promise }
          : undefined;
    const running = Promise.all(Array.from({ length: 20 }, () => execute('create_thing', { label: 'x' })));
    await expect.poll(() => party.seen.filter(({ method }) => method === 'POST').length).toBe(20);
    refused.resolve();
    const answers = await running;
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([422]));
    await execute('create_thing', { label: 'x' });
    expect(probes()).toBe(1);
    clock.advance(MINUTE);
    party.answer = () => ({ status: 401 });
    expect((await execute('create_thing', { label: 'x' })).status).toBe(409);
    expect(await stateOf()).toBe('needs_reconnect');
  });

  test('a rejected call runs again under its key after the permission is given', async () => {
    const key = { 'idempotency-key': `k ${Math.random()}` };
    party.answer = readOnly(401);
    expect((await execute('create_thing', { label: 'x' }, key)).status).toBe(422);
    party.answer = undefined;
    expect((await execute('create_thing', { label: 'x' }, key)).status).toBe(200);
  });

  test('a rejected call reports the missing permission apart from the app text', async () => {
    party.answer = readOnly(401);
    const server = await call('POST', '/api/servers', { name: `s ${userId}`, toolMode: 'direct' });
    const answer = await rpc(server.text('accessUrl'), 'tools/call', {
      name: 'shop_create_thing',
      arguments: { label: 'x' },
    });
    expect(answer.at('result.structuredContent.error')).toMatchObject({
      code: 'upstream_rejected',
      details: { reason: 'permission' },
    });
    expect(answer.at('result.content.0.text')).toMatch(/works, but it has no right.*Do not repeat the call/s);
    expect(answer.at('result.content.0.text')).not.toContain('no write permissions');
    expect(await stateOf()).toBe('active');
  });

  test.each([
    { status: 403, body: { message: 'no', needed: 'things:write' } },
    { status: 401, body: { message: 'no', needed: ['things:write'] } },
    { status: 403, body: { message: 'no' }, headers: { 'x-needs': 'things:write' } },
  ])('a rejected call shows the right that the app names, apart from our words: %j', async (answer) => {
    party.answer = ({ method }) => (method === 'GET' ? undefined : answer);
    const refused = await execute('create_thing', { label: 'x' });
    expect(refused.at('details')).toMatchObject({
      reason: 'permission',
      needed: 'things:write',
      message: 'no (needed: things:write)',
    });
    expect(refused.text('error')).toContain('needed: things:write');
    const server = await call('POST', '/api/servers', { name: `s ${userId}`, toolMode: 'direct' });
    const told = await rpc(server.text('accessUrl'), 'tools/call', {
      name: 'shop_create_thing',
      arguments: { label: 'x' },
    });
    expect(told.at('result.structuredContent.error.details.needed')).toBe('things:write');
    expect(told.at('result.content.0.text')).not.toContain('things:write');
    expect(told.at('result.content.1.text')).toBe('{"said":"no (needed: things:write)"}');
  });

  test('a rejected call ends a credential without a probe only when it is a read', async () => {
    const id = await connect('linked');
    party.answer = () => ({ status: 401 });
    const written = await execute('create_thing', { label: 'x' }, {}, 'linked');
    expect([written.status, written.at('code')]).toEqual([409, 'credential_invalid']);
    expect(await stateOf(id)).toBe('active');
    expect((await execute('list_things', {}, {}, 'linked')).status).toBe(409);
    expect(await stateOf(id)).toBe('needs_reconnect');
  });
});

test('tokens are renewed once before a missing permission is reported', async () => {
  await using bench = await openOAuth();
  const made = await bench.connect();
  bench.clock.advance(HOUR / 2);
  bench.party.refusesWrites = true;
  const write = () => runAction(bench, { actionId: 'add_note', input: { text: 'x' } });
  for (let time = 0; time < 3; time++) {
    await expect(write()).rejects.toMatchObject({
      code: 'upstream_rejected',
      details: { reason: 'permission' },
    });
  }
  expect(bench.party.asked).toHaveLength(1);
  expect(await bench.row(made.credentialId)).toMatchObject({ state: 'active', version: 2 });
  await runAction(bench);
});
