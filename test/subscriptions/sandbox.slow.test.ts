import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { parseJson, valueAt, type Json } from '../../src/lib/json.ts';
import { until } from '../support/until.ts';
import { startReceiver, verified, type Receiver } from '../support/receiver.ts';
import { startService, type Service, type ServiceOptions } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

interface Subscribed extends AsyncDisposable {
  service: Service;
  receiver: Receiver;
  connectionId: string;
  subscriptionId: string;
  secret: string;
  source: Json | undefined;
  act(actionId: string, input: Record<string, unknown>): Promise<string>;
}

async function begin(
  wish: Record<string, unknown>,
  { kind = 'sqlite', env }: Pick<ServiceOptions, 'kind' | 'env'> = {},
): Promise<Subscribed> {
  const service = await startService({ kind, env: { GATEHOUSE_POLL_INTERVAL: '1', ...env } });
  const receiver = await startReceiver();
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const headers = { 'x-svc-userid': userId };
  const connectionId = (
    await service.call('POST', `/users/${userId}/credentials`, {
      headers,
      body: { connectorId: 'sandbox', data: { apiKey: `sandbox_${kind}` } },
    })
  ).text('credentialId');
  const subscribed = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: { address: receiver.url, ...wish },
  });
  expect(subscribed.status).toBe(201);
  return {
    service,
    receiver,
    connectionId,
    subscriptionId: subscribed.text('subscriptionId'),
    secret: subscribed.text('secret'),
    source: subscribed.at('source'),
    async act(actionId, input) {
      const done = await service.call('POST', `/connectors/sandbox/actions/${actionId}/execute`, {
        headers,
        body: { input, credentialId: connectionId },
      });
      expect([actionId, done.status]).toEqual([actionId, 200]);
      return String(done.at('data.id'));
    },
    async [Symbol.asyncDispose]() {
      await receiver[Symbol.asyncDispose]();
      await service.stop();
    },
  };
}

const sourceOf = ({ service }: Subscribed) =>
  service.context.db.selectFrom('sources').selectAll().executeTakeFirst();

const registered = (subscribed: Subscribed) =>
  until(async () => (await sourceOf(subscribed))?.hook_state === 'registered');

const bodies = ({ receiver, secret }: Subscribed) =>
  receiver.received.map((one): { [member: string]: Json } => {
    verified(secret, one);
    return { event: one.headers['x-svc-event'] ?? '', ...asObject(parseJson(one.body)) };
  });

function asObject(value: Json): { [member: string]: Json } {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new Error('no object');
  return value;
}

test.each(STORE_KINDS)('the webhook of the sandbox reports a customer, on %s', async (kind) => {
  await using run = await begin({ scope: 'commerce/customers', events: ['created', 'deleted'] }, { kind });
  expect(run.source).toBe('native');
  await registered(run);
  const id = await run.act('create_customer', { name: 'Grace Hopper', email: 'grace@example.com' });
  await run.receiver.arrived(1);
  await run.act('delete_customer', { customerId: id });
  await run.receiver.arrived(2);
  const [first, second] = bodies(run);
  expect(first).toMatchObject({
    event: 'created',
    remoteId: id,
    firstName: 'Grace',
    lastName: 'Hopper',
    email: 'grace@example.com',
    raw: { id, name: 'Grace Hopper' },
  });
  expect(second).toEqual({
    event: 'deleted',
    id: first?.['id'],
    remoteId: id,
    deletedAt: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  const read = await run.service.call(
    'GET',
    `/2023-03/one/commerce/customers?connectionId=${run.connectionId}&limit=1`,
  );
  expect(read.status).toBe(200);
});

test('an order of the sandbox is found by polling, and only once', async () => {
  await using run = await begin({ scope: 'commerce/orders' });
  expect(run.source).toBe('polling');
  await until(async () => (await sourceOf(run))?.baseline_at !== null);
  const customers = await run.service.call(
    'GET',
    `/2023-03/one/commerce/customers?connectionId=${run.connectionId}&limit=1`,
  );
  const products = await run.service.call(
    'GET',
    `/2023-03/one/commerce/products?connectionId=${run.connectionId}&limit=1`,
  );
  const id = await run.act('create_order', {
    customerId: customers.text('data.0.remoteId'),
    lines: [{ productId: products.text('data.0.remoteId'), quantity: 2 }],
  });
  await run.receiver.arrived(1);
  let lists = 0;
  run.service.app.server.prependListener('request', ({ url }) => {
    if (url?.startsWith('/sandbox/api/orders')) lists++;
  });
  // Polls of a source do not overlap.
  await until(() => lists > 2);
  expect(bodies(run)).toEqual([expect.objectContaining({ event: 'created', remoteId: id })]);
});

test('a backfill sends existing records and marks the first and the last', async () => {
  await using run = await begin({ scope: 'commerce/products', backfill: true });
  const received = await run.receiver.arrived(60);
  bodies(run);
  const marks = received
    .toSorted((a, b) => Number(a.headers['x-svc-sequence']) - Number(b.headers['x-svc-sequence']))
    .map(({ headers }) => headers['x-svc-backfill']);
  expect(marks).toEqual(['first', ...Array.from({ length: 58 }, () => 'next'), 'last']);
  const ids = new Set(received.map(({ body }) => valueAt(parseJson(body), 'remoteId')));
  expect(ids.size).toBe(60);
  const read = await run.service.call('GET', `/webhooks/${run.subscriptionId}`);
  expect(read.at('backfill')).toBe('done');
});

test('a record that is missing from a polled list is delivered as deleted', async () => {
  // The changed webhook address makes the source rely on polling.
  await using run = await begin({ scope: 'commerce/customers', events: ['deleted'] });
  await registered(run);
  const { db } = run.service.context;
  await until(
    async () => (await db.selectFrom('seen').selectAll().where('key', 'like', 'p:%').execute()).length >= 120,
  );
  await db.updateTable('sources').set({ hook_hash: 'somewhere else' }).execute();
  const list = await run.service.call(
    'GET',
    `/2023-03/one/commerce/customers?connectionId=${run.connectionId}&limit=1`,
  );
  const id = list.text('data.0.remoteId');
  await run.act('delete_customer', { customerId: id });
  await db.updateTable('jobs').set({ next_at: 0 }).where('kind', '=', 'inventory').execute();
  await run.receiver.arrived(1);
  expect(bodies(run)).toEqual([
    { event: 'deleted', id: list.at('data.0.id'), remoteId: id, deletedAt: expect.any(String) },
  ]);
});

test('a webhook counts once, when its signature and its address are right', async () => {
  await using run = await begin({ scope: 'commerce/customers', events: ['created', 'updated'] });
  await registered(run);
  const { context, url } = run.service;
  const hook = await registrationOf(run);
  const send = (path: string, body: string, secret = hook.secret, at = Math.floor(Date.now() / 1000)) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-sandbox-signature': `t=${at},v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`,
      },
      body,
    }).then(async (answer) => ({ status: answer.status, text: await answer.text() }));
  const record = {
    id: 'cus_new',
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    createdAt: new Date().toISOString(),
    updatedAt: new Date().toISOString(),
  };
  const event = JSON.stringify({ id: 'evt_1', topic: 'customer.created', record });
  const path = new URL(hook.address).pathname;
  expect((await send(path, event, 'x'.repeat(32))).status).toBe(401);
  expect((await send(path, event, hook.secret, Math.floor(Date.now() / 1000) - 3600)).status).toBe(401);
  expect((await send(`${path.slice(0, -1)}${path.endsWith('x') ? 'y' : 'x'}`, event)).status).toBe(404);
  expect((await send(path.replace('/sandbox/', '/github/'), event)).status).toBe(404);
  expect((await send(path, event)).status).toBe(200);
  expect((await send(path, event)).status).toBe(200);
  expect((await send(path, '{"id":"evt_2","topic":"something.else"}')).status).toBe(200);
  expect((await send(path, 'not json')).status).toBe(400);
  await run.receiver.arrived(1);
  await until(async () => (await unread(run)) === 0);
  expect(bodies(run)).toEqual([expect.objectContaining({ remoteId: 'cus_new' })]);
  expect(run.service.logged.join('')).not.toContain(hook.secret);
  expect(JSON.stringify(await context.db.selectFrom('sources').selectAll().execute())).not.toMatch(
    new RegExp(`${hook.secret}|${path.split('/').at(-1)}`),
  );
});

test('the registration is removed with the last subscription, and with the credential', async () => {
  await using run = await begin({ scope: 'commerce/customers' });
  await registered(run);
  expect(await hooksOf(run)).toHaveLength(2);
  await run.service.call('DELETE', `/webhooks/${run.subscriptionId}`);
  await until(async () => (await hooksOf(run)).length === 0);
  await until(async () => (await sourceOf(run)) === undefined);

  await run.service.call('POST', `/2023-03/one/webhooks?connectionId=${run.connectionId}`, {
    body: { address: run.receiver.url, scope: 'commerce/customers' },
  });
  await registered(run);
  const shown = await hooksOf(run);
  expect(shown).toHaveLength(2);
  const owner = await run.service.context.db.selectFrom('users').select('user_id').executeTakeFirstOrThrow();
  await run.service.call('DELETE', `/users/${owner.user_id}/credentials/${run.connectionId}`, {
    headers: { 'x-svc-userid': owner.user_id },
  });
  expect(await hooksOf(run)).toEqual([]);
});

/** Returns the registered webhooks as the sandbox itself lists them. */
async function hooksOf({ service }: Subscribed): Promise<Json[]> {
  const answer = await fetch(`${service.url}/sandbox/api/webhooks`, {
    headers: { 'x-sandbox-key': 'sandbox_sqlite' },
  });
  const listed = valueAt(parseJson(await answer.text()), 'webhooks');
  return Array.isArray(listed) ? listed : [];
}

async function registrationOf(run: Subscribed): Promise<{ address: string; secret: string }> {
  const row = await sourceOf(run);
  const { keys } = run.service.context;
  const hook = parseJson(keys.open(row?.hook_sealed ?? '', `source|${row?.source_id}`));
  return {
    address: String(valueAt((await hooksOf(run))[0] ?? null, 'url')),
    secret: String(valueAt(hook, 'secret')),
  };
}

async function unread({ service }: Subscribed): Promise<number> {
  const rows = await service.context.db
    .selectFrom('inbox')
    .select('inbox_id')
    .where('processed_at', 'is', null)
    .execute();
  return rows.length;
}
