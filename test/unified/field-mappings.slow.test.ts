import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { startReceiver, verified, type Receiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

/* The operator's own fields, by level, as REST returns them and as they are delivered. */

let service: Service;
let receiver: Receiver;
let userId: string;
let first: string;
let second: string;

const scope = 'commerce/customers';
const put = (body: object, options: object = {}) =>
  service.call('PUT', '/api/field-mappings', { body: { scope, ...body }, ...options });
const customOf = async (connectionId: string) => {
  const page = await service.call('GET', `/2023-03/one/${scope}?connectionId=${connectionId}&limit=1`);
  expect(page.status).toBe(200);
  return page.at('data.0.custom');
};

beforeAll(async () => {
  receiver = await startReceiver();
  service = await startService({ env: { GATEHOUSE_SANDBOX: '1' } });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const connect = async (apiKey: string) =>
    (
      await service.call('POST', `/users/${userId}/credentials`, {
        headers: { 'x-svc-userid': userId },
        body: { connectorId: 'sandbox', data: { apiKey } },
      })
    ).text('credentialId');
  first = await connect('sandbox_first');
  second = await connect('sandbox_second');
});
afterAll(async () => {
  await service.stop();
  await receiver[Symbol.asyncDispose]();
});

test('an object without a mapping has no custom fields', async () => {
  expect(await customOf(first)).toBeUndefined();
});

test('fields of a connection override those of its connector and of the environment', async () => {
  const levels = [
    await put({ fields: { level: '"environment"', country: 'country', of: '"all"' } }),
    await put({ connectorId: 'sandbox', fields: { level: '"connector"', shouted: '$uppercase(name)' } }),
    await put({ connectionId: first, fields: { level: '"connection"' } }),
  ];
  expect(levels.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(levels[2]?.body).toMatchObject({ connectorId: 'sandbox', connectionId: first });
  const here = await customOf(first);
  expect(here).toMatchObject({
    level: 'connection',
    of: 'all',
    country: expect.stringMatching(/^[A-Z]{2}$/),
  });
  expect(here).toHaveProperty('shouted', expect.stringMatching(/^[^a-z]+$/));
  expect(await customOf(second)).toMatchObject({ level: 'connector', of: 'all' });
});

test('a level is listed, replaced as a whole, and removed', async () => {
  const list = async () => (await service.call('GET', '/api/field-mappings')).at('data');
  expect(await list()).toHaveLength(3);
  const replaced = await put({ connectionId: first, fields: { only: 'id' } });
  expect(await list()).toHaveLength(3);
  expect(await customOf(first)).toMatchObject({ level: 'connector', only: expect.stringMatching(/^cus_/) });
  const removed = await service.call('DELETE', `/api/field-mappings/${replaced.text('mappingId')}`);
  expect(removed.status).toBe(200);
  expect(await list()).toHaveLength(2);
  expect(await customOf(first)).not.toHaveProperty('only');
  const again = await service.call('DELETE', `/api/field-mappings/${replaced.text('mappingId')}`);
  expect([again.status, again.text('code')]).toEqual([404, 'field_mapping_not_found']);
});

test('other models and the other environment do not have mapped fields', async () => {
  const orders = await service.call('GET', `/2023-03/one/commerce/orders?connectionId=${first}&limit=1`);
  expect(orders.at('data.0.custom')).toBeUndefined();
  const there = await service.call('GET', '/api/field-mappings', { bearer: service.productionKey });
  expect(there.at('data')).toEqual([]);
});

test('an expression that fails on a record gives null in that record', async () => {
  await put({ connectionId: first, fields: { broken: '$number(name)', fine: '1 + 1' } });
  expect(await customOf(first)).toMatchObject({ broken: null, fine: 2 });
});

test('an expression that never ends delays a page once, not once for each record', async () => {
  await put({
    connectionId: first,
    fields: { endless: '$match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", /(a+)+$/)', fine: 'id' },
  });
  const page = await service.call('GET', `/2023-03/one/${scope}?connectionId=${first}&limit=20`);
  expect(page.status).toBe(200);
  for (const index of [0, 1, 19])
    expect(page.at(`data.${index}.custom`)).toMatchObject({
      endless: null,
      fine: expect.stringMatching(/^cus_/),
    });
  await put({ connectionId: first, fields: {} });
  // Twenty waits of two seconds each would take longer.
});

test('deliveries have the mapped fields too', async () => {
  const made = await service.call('POST', `/2023-03/one/webhooks?connectionId=${second}`, {
    body: { scope, address: receiver.url },
  });
  expect(made.at('source')).toBe('native');
  await until(async () => {
    const row = await service.context.db
      .selectFrom('sources')
      .select(['hook_state', 'baseline_at'])
      .where('credential_id', '=', second)
      .executeTakeFirst();
    return row?.hook_state === 'registered' && row.baseline_at !== null;
  });
  const created = await service.call('POST', '/connectors/sandbox/actions/create_customer/execute', {
    headers: { 'x-svc-userid': userId },
    body: { input: { name: 'Ada Lovelace', email: 'ada@example.com', country: 'GB' }, credentialId: second },
  });
  expect(created.status).toBe(200);
  const [delivery] = await receiver.arrived(1);
  expect(delivery && verified(made.text('secret'), delivery)).toMatchObject({
    firstName: 'Ada',
    custom: { level: 'connector', country: 'GB', shouted: 'ADA LOVELACE' },
  });
});

test.each(STORE_KINDS)('on %s concurrent writes of a level leave one level', async (kind) => {
  await using busy = await startService({ kind });
  const levels = [{}, { connectorId: 'sandbox' }];
  const set = (level: object, n: number) =>
    busy.call('PUT', '/api/field-mappings', { body: { scope, ...level, fields: { n: String(n) } } });
  for (const level of levels) {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => set(level, n)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map((answer) => answer.text('mappingId'))).size).toBe(1);
  }
  expect((await busy.call('GET', '/api/field-mappings')).at('data')).toHaveLength(levels.length);
});

describe('refused is', () => {
  test.each([
    ['an expression that is none', { fields: { total: '$sum(' } }, 'fields.total'],
    ['a name that is none', { fields: { 'a b': 'id' } }, 'fields'],
    ['a model that is none', { scope: 'commerce/coupons', fields: {} }, 'scope'],
  ])('a mapping with %s is refused', async (_, body, field) => {
    const refused = await put(body);
    expect([refused.status, refused.text('code')]).toEqual([400, 'invalid_request']);
    expect(refused.text('details.faults.0.field')).toContain(field);
  });

  test('a mapping of an unknown connector or connection is refused', async () => {
    expect((await put({ connectorId: 'nowhere', fields: {} })).text('code')).toBe('connector_not_found');
    expect((await put({ connectionId: 'cred_0', fields: {} })).text('code')).toBe('credential_not_found');
    const other = await put({ connectionId: first, fields: {} }, { bearer: service.productionKey });
    expect(other.text('code')).toBe('credential_not_found');
    const mismatch = await put({ connectionId: first, connectorId: 'github', fields: {} });
    expect([mismatch.status, mismatch.text('code')]).toEqual([400, 'invalid_request']);
  });
});
