import { afterAll, beforeAll, expect, test } from 'vitest';
import { asObject, valueAt, type Json, type JsonObject } from '../../src/lib/json.ts';
import { rpc } from '../support/mcp.ts';
import { startShop, type Shop } from '../support/shop.ts';
import { startThirdParty } from '../support/third-party.ts';

/* The words of a failed write agree with the answer to the same call after it. */

let shop: Shop;
let accessUrl: string;
beforeAll(async () => {
  shop = await startShop();
  const created = await shop.call('POST', '/api/servers', {
    body: {
      name: 'guarded',
      toolMode: 'direct',
      codeMode: 'on',
      restrictions: { connectors: { allowedIds: ['shop'] } },
    },
  });
  accessUrl = created.text('accessUrl');
});
afterAll(() => shop[Symbol.asyncDispose]());

let count = 0;
const thing = () => ({ connectorId: 'shop', actionId: 'create_thing', parameters: { label: `t${++count}` } });
const tool = async (name: string, args: object): Promise<JsonObject> =>
  asObject(
    (await rpc(accessUrl, 'tools/call', { name, arguments: args })).at('result.structuredContent') ?? {},
  );
type Thing = ReturnType<typeof thing>;

/** The ways of a write. Each returns the error as its caller gets it, or null. */
const DOORS: [string, (write: Thing, more?: object) => Promise<Json>][] = [
  [
    'execute_action_svc',
    async (write, more) => (await tool('execute_action_svc', { ...write, ...more }))['error'] ?? null,
  ],
  [
    'a direct tool',
    async ({ parameters }, more) =>
      (await tool('shop_create_thing', { ...parameters, ...more }))['error'] ?? null,
  ],
  [
    'execute_batch_svc',
    async (write, more) =>
      valueAt(await tool('execute_batch_svc', { calls: [{ ...write, ...more }] }), 'results.0.error') ?? null,
  ],
];

/** A program gets no next step, but the facts. */
const program = async ({ parameters }: Thing, more: object = {}): Promise<Json> => {
  const given = [parameters, more].map((one) => JSON.stringify(one)).join(', ');
  const code = `try { await shop.create_thing(${given}); return null } catch ({ code, details }) { return { code, details } }`;
  return (await tool('run_code_svc', { code }))['value'] ?? null;
};

test.each(DOORS)('a write by %s that ends with a 5xx says how it is repeated', async (_, send) => {
  const write = thing();
  shop.party.answer = () => ({ status: 500, body: { error: 'broken' } });
  expect(await send(write)).toMatchObject({
    code: 'upstream_failed',
    details: { outcome: 'unknown' },
    next: expect.stringMatching(/read the current data first.*`again: true`.*held/),
  });
  shop.party.answer = undefined;
  expect(await send(write)).toMatchObject({
    code: 'possible_duplicate',
    details: { outcome: 'unknown' },
    next: expect.not.stringContaining('earlier result'),
  });
  expect(await send(write, { again: true })).toBeNull();
});

test('a write of a program that ends with a 5xx is held in the next program', async () => {
  const write = thing();
  shop.party.answer = () => ({ status: 502 });
  expect(await program(write)).toMatchObject({ code: 'upstream_failed', details: { outcome: 'unknown' } });
  shop.party.answer = undefined;
  expect(await program(write)).toMatchObject({ code: 'possible_duplicate', details: { outcome: 'unknown' } });
  expect(await program(write, { again: true })).toBeNull();
});

test.each(DOORS)('a write by %s that the app refuses runs when it is repeated', async (_, send) => {
  const write = thing();
  shop.party.answer = () => ({ status: 422, body: { error: 'no' } });
  const refused = await send(write);
  expect(refused).toMatchObject({
    code: 'upstream_rejected',
    next: expect.not.stringContaining('again: true'),
  });
  expect(valueAt(refused, 'details.outcome')).toBeUndefined();
  shop.party.answer = undefined;
  expect(await send(write)).toBeNull();
});

test('a write that reached nothing says that it may run again, and runs', async () => {
  const gone = await startThirdParty();
  const made = await shop.call('POST', `/users/${shop.userId}/credentials`, {
    body: { connectorId: 'shop', data: { apiKey: gone.otherKey(), origin: gone.origin } },
  });
  const write = { ...thing(), credentialId: made.text('credentialId') };
  await gone[Symbol.asyncDispose]();
  for (const _ of [1, 2])
    expect((await tool('execute_action_svc', write))['error']).toMatchObject({
      code: 'upstream_failed',
      next: 'Nothing was done. Try again in a moment.',
    });
});

test('a 5xx of a read says to try again, and the read runs again', async () => {
  const { credentialId } = shop;
  const read = { connectorId: 'shop', actionId: 'list_offset', parameters: {}, credentialId };
  shop.party.answer = () => ({ status: 500 });
  const failed = await tool('execute_action_svc', read);
  expect(failed['error']).toMatchObject({ next: expect.stringContaining('Try again in a moment') });
  shop.party.answer = undefined;
  expect((await tool('execute_action_svc', read))['error']).toBeUndefined();
});
