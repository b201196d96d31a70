import { createHmac } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asObject } from '../../../src/lib/json.ts';
import { separate } from '../../support/events.ts';
import { until } from '../../support/until.ts';
import { startReceiver, verified, type Receiver } from '../../support/receiver.ts';
import { startService, type Service } from '../../support/service.ts';
import { json, startUpstream, type Upstream } from '../../support/upstream.ts';

/*
 * Native webhooks of an app with unusual choices. It creates the secret and returns it once, and it registers
 * all topics together. It sends events of all accounts with ids only. It switches off webhooks that get no
 * answer.
 */

const HUB = `id: hub
name: Hub
description: An app of the tests.
categories: [commerce]
website: https://hub.example.com
sources: [{title: The tests themselves, read: 2026-11-21}]
baseUrl: '{origin}'
variables: {origin: {title: Address, format: origin}}
authentication:
  - {type: bearer}
  - {type: api_key, in: header, name: X-Key}
probe: get_me
account: {id: id}
actions:
  get_me: {description: The account., request: GET /me}
  list_orders:
    description: Orders.
    request: GET /orders
    query: {changed_after: {type: string}}
    paging: {style: none}
    response: {data: orders}
  get_order:
    description: An order.
    request: GET /orders/{orderId}
    path: {orderId: {type: string}}
  list_hooks: {internal: true, description: Hooks., request: GET /hooks, response: {data: hooks}}
  add_hook:
    internal: true
    description: A new hook.
    request: POST /hooks
    body: {url: {type: string}, topics: {type: array, items: {type: string}}}
    response: {data: hook}
  drop_hook: {internal: true, description: Ends a hook., request: 'DELETE /hooks/{hookId}', path: {hookId: {type: string}}}
unified:
  commerce/orders:
    list: list_orders
    get: {action: get_order, param: orderId}
    remoteId: id
    createdAt: createdAt
    updatedAt: updatedAt
    map: '{"totalPrice": total, "currency": "EUR"}'
    poll: {since: changed_after}
  commerce/products:
    list: list_orders
    get: {action: get_order, param: orderId}
    remoteId: id
    createdAt: createdAt
    updatedAt: updatedAt
    map: '{"price": total}'
    poll: {since: changed_after}
webhooks:
  verify: {type: hmac, header: X-Hub-Signature, content: '{url}{body}', encoding: base64}
  authentication: [bearer]
  account: body:account
  topic: body:what
  fetchId: which
  topics:
    commerce/orders:
      - {topic: order.made, event: created, except: {kind: draft}}
      - {topic: order.changed, event: updated}
      - {topic: order.gone, event: deleted}
      - {topic: order.settled, event: deleted, where: {how: void}}
      - {topic: order.settled, event: updated, where: {how: paid}}
    commerce/products:
      - {topic: catalogue.changed, event: changed}
  register:
    list: {action: list_hooks, id: id, address: url, alive: {status: on}}
    create: {action: add_hook, each: all, input: {url: '{address}', topics: '{topics}'}, id: id, secret: 'body:hook.secret'}
    delete: {action: drop_hook, param: hookId}
`;

interface Hook {
  id: string;
  url: string;
  topics: string[];
  status: string;
  secret: string;
}

let upstream: Upstream;
let service: Service;
let receiver: Receiver;
let userId: string;
let folder: string;
let connectionId: string;
let orders: Record<string, { id: string; total: string; createdAt: string; updatedAt: string }> = {};
let hooks: Hook[] = [];
let asked: string[] = [];
let made = 0;
/** Releases the reads of orders whose ids begin with `slow`. */
let answerSlow: (() => void)[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-hub-'));
  mkdirSync(join(folder, 'hub'));
  writeFileSync(join(folder, 'hub', 'connector.yaml'), HUB);
  upstream = await startUpstream();
  upstream.handler = (req, res) => {
    let text = '';
    req.on('data', (chunk) => (text += String(chunk)));
    req.on('end', () =>
      answer(req.method ?? '', req.url ?? '', text, (status, body) => json(res, status, body)),
    );
  };
  receiver = await startReceiver();
  service = await startService({ catalogFolder: folder, env: { GATEHOUSE_SANDBOX: '0' } });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  connectionId = await connect({ token: 'hub_token', origin: upstream.origin });
});
afterAll(async () => {
  await service.stop();
  await receiver[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function answer(
  method: string,
  url: string,
  text: string,
  send: (status: number, body: Parameters<typeof json>[2]) => void,
): void {
  const path = url.split('?')[0] ?? '';
  asked.push(`${method} ${path}`);
  if (path === '/me') return send(200, { id: 'acct_1' });
  if (path === '/orders') return send(200, { orders: Object.values(orders) });
  if (path === '/hooks' && method === 'GET')
    return send(200, { hooks: hooks.map(({ secret: _secret, ...shown }) => ({ ...shown })) });
  if (path === '/hooks') {
    const wish: { url: string; topics: string[] } = JSON.parse(text);
    made += 1;
    const hook = { id: `hook_${made}`, ...wish, status: 'on', secret: `secret_${made}` };
    hooks.push(hook);
    return send(201, { hook: { ...hook } });
  }
  const id = path.split('/').at(-1) ?? '';
  if (method === 'DELETE') {
    const there = hooks.some((hook) => hook.id === id);
    hooks = hooks.filter((hook) => hook.id !== id);
    return send(there ? 200 : 404, {});
  }
  if (id.startsWith('slow')) return void answerSlow.push(() => send(404, {}));
  const order = orders[id];
  return order ? send(200, { ...order }) : send(404, { message: 'no such order' });
}

async function connect(data: object): Promise<string> {
  const answered = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'hub', data },
  });
  return separate(service, answered.text('credentialId'));
}

async function subscribe(connection: string, scope = 'commerce/orders') {
  const answered = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connection}`, {
    body: { address: `${receiver.url}/${scope}`, scope, events: ['created', 'updated', 'deleted'] },
  });
  const subscription = {
    id: answered.text('subscriptionId'),
    secret: answered.text('secret'),
    source: answered.at('source'),
  };
  await until(async () => {
    const row = await service.context.db
      .selectFrom('sources')
      .select(['hook_state', 'baseline_at'])
      .where('credential_id', '=', connection)
      .where('scope', '=', scope)
      .executeTakeFirst();
    return row !== undefined && row.hook_state !== 'wanted' && row.baseline_at !== null;
  });
  return subscription;
}

function saveOrder(id: string, total: string): void {
  const now = new Date().toISOString();
  orders = { ...orders, [id]: { id, total, createdAt: orders[id]?.createdAt ?? now, updatedAt: now } };
}

/** Sends a webhook as the app does. Returns the status of our answer. */
async function send(hook: Hook | undefined, event: object, secret = hook?.secret ?? ''): Promise<number> {
  const body = JSON.stringify({ account: 'acct_1', ...event });
  const signature = createHmac('sha256', secret).update(`${hook?.url}${body}`).digest('base64');
  const headers = { 'content-type': 'application/json', 'x-hub-signature': signature };
  return (await fetch(hook?.url ?? '', { method: 'POST', headers, body })).status;
}

const published = ({ id, secret }: { id: string; secret: string }) =>
  receiver.received
    .filter(({ headers }) => headers['x-svc-subscription-id'] === id)
    .map((one) => [one.headers['x-svc-event'], verified(secret, one)]);

/** Waits until all stored webhooks were processed once. Missing records are read again later. */
const settled = () =>
  until(async () => {
    const waiting = await service.context.db
      .selectFrom('inbox')
      .select('inbox_id')
      .where('processed_at', 'is', null)
      .where('next_at', '<=', Date.now())
      .executeTakeFirst();
    return waiting === undefined;
  });

let subscription: Awaited<ReturnType<typeof subscribe>>;

test('all topics are registered at once, and the secret of the app is stored', async () => {
  subscription = await subscribe(connectionId);
  expect(subscription.source).toBe('native');
  expect(hooks).toMatchObject([
    { topics: ['order.made', 'order.changed', 'order.gone', 'order.settled'], status: 'on' },
  ]);
});

test('an event with only an id is published with the present record', async () => {
  saveOrder('ord_1', '12.50');
  expect(await send(hooks[0], { what: 'order.made', which: 'ord_1' })).toBe(200);
  await until(() => published(subscription).length === 1);
  expect(published(subscription)[0]).toMatchObject(['created', { remoteId: 'ord_1', totalPrice: '12.50' }]);
});

test('a signature over the address covers its query as it came', async () => {
  const body = JSON.stringify({ account: 'acct_1', what: 'order.unknown' });
  const [hook] = hooks;
  const url = `${hook?.url}?b=x+y%20z&a=%7e1`;
  const sign = (content: string) =>
    createHmac('sha256', hook?.secret ?? '')
      .update(content)
      .digest('base64');
  const statusOf = async (signature: string) => {
    const headers = { 'content-type': 'application/json', 'x-hub-signature': signature };
    return (await fetch(url, { method: 'POST', headers, body })).status;
  };
  expect(await statusOf(sign(`${url}${body}`))).toBe(200);
  expect(await statusOf(sign(`${hook?.url}${body}`))).toBe(401);
});

test('two equal events are two changes when the record changed between them', async () => {
  for (const [index, total] of ['13.00', '14.00'].entries()) {
    saveOrder('ord_1', total);
    await send(hooks[0], { what: 'order.changed', which: 'ord_1' });
    await until(() => published(subscription).length === index + 2);
  }
  await send(hooks[0], { what: 'order.changed', which: 'ord_1' });
  await settled();
  const totals = published(subscription).slice(1);
  expect(totals).toMatchObject([
    ['updated', { totalPrice: '13.00' }],
    ['updated', { totalPrice: '14.00' }],
  ]);
});

test('forged events and events of other accounts or missing records publish nothing', async () => {
  saveOrder('ord_2', '1.00');
  const before = published(subscription).length;
  expect(await send(hooks[0], { what: 'order.made', which: 'ord_2' }, 'guessed')).toBe(401);
  expect(await send(hooks[0], { account: 'acct_2', what: 'order.made', which: 'ord_2' })).toBe(200);
  expect(await send(hooks[0], { kind: 'draft', what: 'order.made', which: 'ord_2' })).toBe(200);
  expect(await send(hooks[0], { what: 'order.made', which: 'ord_none' })).toBe(200);
  expect(await send(hooks[0], { what: 'shop.renamed' })).toBe(200);
  await settled();
  expect(published(subscription)).toHaveLength(before);
});

test('a deletion is published with the id', async () => {
  const before = published(subscription).length;
  await send(hooks[0], { what: 'order.gone', which: 'ord_1' });
  await until(() => published(subscription).length === before + 1);
  expect(published(subscription).at(-1)).toEqual([
    'deleted',
    { id: expect.any(String), remoteId: 'ord_1', deletedAt: expect.stringMatching(/Z$/) },
  ]);
});

test('a where rule chooses among the entries of one topic, which is registered once', async () => {
  const before = published(subscription).length;
  const publishedNow = () => published(subscription).slice(before);
  saveOrder('ord_settled', '7.00');
  await send(hooks[0], { what: 'order.made', which: 'ord_settled' });
  await until(() => publishedNow().length === 1);
  saveOrder('ord_settled', '8.00');
  await send(hooks[0], { what: 'order.settled', which: 'ord_settled', how: 'postponed' });
  await settled();
  await send(hooks[0], { what: 'order.settled', which: 'ord_settled', how: 'paid' });
  await until(() => publishedNow().length === 2);
  await send(hooks[0], { what: 'order.settled', which: 'ord_settled', how: 'void' });
  await until(() => publishedNow().length === 3);
  expect(publishedNow()).toMatchObject([
    ['created', { totalPrice: '7.00' }],
    ['updated', { totalPrice: '8.00' }],
    ['deleted', { remoteId: 'ord_settled' }],
  ]);
});

test('an app that does not answer delays only its own webhooks', async () => {
  const slow = await subscribe(await connect({ token: 'slow_token', origin: upstream.origin }));
  const before = published(subscription).length;
  expect(await send(hooks.at(-1), { what: 'order.made', which: 'slow_1' })).toBe(200);
  await until(() => answerSlow.length === 1);
  saveOrder('ord_quick', '4.00');
  await send(hooks[0], { what: 'order.made', which: 'ord_quick' });
  await until(() => published(subscription).length === before + 1);
  await send(hooks.at(-1), { what: 'order.made', which: 'ord_quick' });
  for (const answerNow of answerSlow) answerNow();
  await until(() => published(slow).some(([, record]) => asObject(record)['remoteId'] === 'ord_quick'));
  await service.call('DELETE', `/webhooks/${slow.id}`);
  await until(() => hooks.length === 1);
});

test('a webhook that the store refuses waits alone', async () => {
  const { db } = service.context;
  await sql`create trigger refuse before insert on seen when new.key like '%poison%'
    begin select raise(abort, 'refused'); end`.execute(db);
  const before = published(subscription).length;
  await send(hooks[0], { what: 'order.gone', which: 'poison' });
  saveOrder('ord_healthy', '6.00');
  await send(hooks[0], { what: 'order.made', which: 'ord_healthy' });
  await until(() => published(subscription).length === before + 1);
  await until(async () => {
    const row = await db
      .selectFrom('inbox')
      .select('attempts')
      .where('processed_at', 'is', null)
      .where('attempts', '>', 0)
      .executeTakeFirst();
    return row !== undefined;
  });
  await sql`drop trigger refuse`.execute(db);
  await db.updateTable('inbox').set({ next_at: 0 }).where('processed_at', 'is', null).execute();
  service.context.sources.wake();
  await until(() => published(subscription).length === before + 2);
  expect(published(subscription).at(-1)).toMatchObject(['deleted', { remoteId: 'poison' }]);
});

test('a registration that the app switched off is replaced, with its new secret', async () => {
  for (const hook of hooks) hook.status = 'off';
  await service.context.db.updateTable('jobs').set({ next_at: 0 }).where('kind', '=', 'register').execute();
  service.context.sources.wake();
  await until(() => hooks.length === 1 && hooks[0]?.status === 'on');
  expect([hooks[0]?.id, hooks[0]?.secret]).toEqual(['hook_3', 'secret_3']);
  saveOrder('ord_3', '3.00');
  await until(async () => (await send(hooks[0], { what: 'order.made', which: 'ord_3' })) === 200);
  const made = ['created', expect.objectContaining({ remoteId: 'ord_3' })];
  await expect.poll(() => published(subscription)).toContainEqual(made);
});

test('a polled source becomes native when a consumer subscribes with all values known', async () => {
  const credentials = () => service.context.db.updateTable('credentials');
  const sourceOf = () =>
    service.context.db.selectFrom('sources').select(['kind', 'hook_state']).executeTakeFirstOrThrow();
  await credentials().set({ account: null }).execute();
  await service.context.db.updateTable('jobs').set({ next_at: 0 }).where('kind', '=', 'register').execute();
  service.context.sources.wake();
  await until(async () => (await sourceOf()).kind === 'polling');
  expect(hooks).toEqual([]);
  await credentials()
    .set({ account: JSON.stringify({ id: 'acct_1' }) })
    .execute();
  const again = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: { address: `${receiver.url}/again`, scope: 'commerce/orders' },
  });
  expect(again.at('source')).toBe('native');
  await until(async () => (await sourceOf()).hook_state === 'registered');
  expect(hooks).toMatchObject([{ id: 'hook_4', status: 'on' }]);
  await service.call('DELETE', `/webhooks/${again.text('subscriptionId')}`);
});

test('an app that does not report which record changed is polled at once', async () => {
  const products = await subscribe(connectionId, 'commerce/products');
  saveOrder('prd_1', '5.00');
  const hook = hooks.find(({ topics }) => topics.includes('catalogue.changed'));
  expect(await send(hook, { what: 'catalogue.changed' })).toBe(200);
  const made = ['created', expect.objectContaining({ remoteId: 'prd_1', price: '5.00' })];
  await expect.poll(() => published(products)).toContainEqual(made);
});

test('a credential that cannot register is polled', async () => {
  const other = await connect({ apiKey: 'hub_key', origin: upstream.origin });
  asked = [];
  const polled = await subscribe(other);
  expect(polled.source).toBe('polling');
  expect(asked).not.toContain('POST /hooks');
});

test('deleting the last subscription removes the registration', async () => {
  const removed = await service.call('DELETE', `/webhooks/${subscription.id}`);
  expect(removed.status).toBe(200);
  await until(() => !hooks.some(({ topics }) => topics.includes('order.made')));
});
