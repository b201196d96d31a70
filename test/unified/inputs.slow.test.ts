import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { json, startUpstream, type Upstream } from '../support/upstream.ts';

/*
 * An app that returns only orders of named places, two places at a time: seven places, from none to five orders each.
 */

const CHAIN = `id: chain
name: Chain
description: An app of the tests.
categories: [commerce]
website: https://chain.example.com
sources: [{title: The tests themselves, read: 2026-11-21}]
baseUrl: '{origin}'
variables:
  origin: {title: Address, format: origin}
  kind: {title: Kind, required: false, default: sale}
authentication: [{type: bearer}]
actions:
  list_places: {description: Places., request: GET /places, paging: {style: offset, offsetParam: skip, limitParam: take, maxLimit: 3, total: 'body:total'}, response: {data: places}}
  list_orders:
    description: Orders of places.
    request: GET /orders
    query: {places: {type: array, items: {type: string}, style: comma, maxItems: 2}, kind: {type: string}}
    paging: {style: offset, offsetParam: skip, limitParam: take, maxLimit: 3, total: 'body:total'}
    response: {data: orders}
  get_order: {description: An order., request: 'GET /orders/{orderId}', path: {orderId: {type: integer}}}
unified:
  commerce/orders:
    list: list_orders
    input: {kind: '{kind}'}
    inputFrom: {places: {action: list_places, path: id, most: 2}}
    get: {action: get_order, param: orderId}
    remoteId: id
    createdAt: createdAt
    map: '{"note": place, "orderNumber": $trim(label)}'
    poll: {by: createdAt}
`;

const PLACES = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const COUNTS = [5, 0, 0, 0, 4, 1, 3];

let upstream: Upstream;
let service: Service;
let receiver: Receiver;
let folder: string;
let connectionId: string;
let orders: { id: number; place: string; createdAt: string; label?: number }[] = [];
const kinds = new Set<string | null>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-chain-'));
  mkdirSync(join(folder, 'chain'));
  writeFileSync(join(folder, 'chain', 'connector.yaml'), CHAIN);
  let id = 100;
  orders = PLACES.flatMap((place, index) =>
    Array.from({ length: COUNTS[index] ?? 0 }, () => ({
      id: ++id,
      place,
      createdAt: '2026-11-01T00:00:00Z',
    })),
  );
  upstream = await startUpstream();
  upstream.handler = (req, res) => {
    const url = new URL(req.url ?? '', upstream.origin);
    const [skip, take] = [Number(url.searchParams.get('skip')), Number(url.searchParams.get('take') ?? 3)];
    if (url.pathname === '/places') {
      const places = PLACES.map((place) => ({ id: place }));
      return json(res, 200, { places: places.slice(skip, skip + take), total: places.length });
    }
    if (url.pathname === '/orders') {
      kinds.add(url.searchParams.get('kind'));
      const wanted = url.searchParams.get('places')?.split(',') ?? [];
      if (wanted.length > 2) return json(res, 400, { message: 'two places at most' });
      const found = orders.filter(({ place }) => wanted.includes(place));
      return json(res, 200, {
        orders: found.slice(skip, skip + take).map((one) => ({ ...one })),
        total: found.length,
      });
    }
    const order = orders.find((one) => `${one.id}` === url.pathname.split('/').at(-1));
    return order ? json(res, 200, { ...order }) : json(res, 404, { message: 'none' });
  };
  receiver = await startReceiver();
  service = await startService({
    catalogFolder: folder,
    env: { GATEHOUSE_SANDBOX: '0', GATEHOUSE_POLL_INTERVAL: '1' },
  });
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const made = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'chain', data: { token: 'chain_token', origin: upstream.origin } },
  });
  connectionId = made.text('credentialId');
});
afterAll(async () => {
  await service.stop();
  await receiver[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const page = async (limit: number, offset: number) => {
  const answer = await service.call(
    'GET',
    `/2023-03/one/commerce/orders?connectionId=${connectionId}&limit=${limit}&offset=${offset}`,
  );
  expect(answer.status).toBe(200);
  return answer;
};

test.each([1, 2, 3, 4, 7, 50])(
  'pages of %d over all places return each order once, in order',
  async (limit) => {
    const seen: unknown[] = [];
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const answer = await page(limit, offset);
      const data = answer.at('data');
      for (let index = 0; Array.isArray(data) && index < data.length; index++)
        seen.push(answer.at(`data.${index}.remoteId`));
      const next = answer.at('pagination.nextOffset');
      expect(answer.at('pagination.hasMore')).toBe(next !== undefined);
      offset = typeof next === 'number' ? next : undefined;
      expect(seen.length).toBeLessThanOrEqual(orders.length);
    }
    expect(seen).toEqual(orders.map(({ id }) => `${id}`));
    expect([...kinds]).toEqual(['sale']);
  },
);

test('a window may begin after whole places, or after the end', async () => {
  expect((await page(2, 10)).at('data.0.remoteId')).toBe(`${orders[10]?.id}`);
  const behind = await page(2, 500);
  expect([behind.at('data'), behind.at('pagination.hasMore')]).toEqual([[], false]);
});

test('an order is read by its id, which is a number at the app', async () => {
  const id = (await page(1, 0)).text('data.0.id');
  const read = await service.call('GET', `/2023-03/one/commerce/orders/${id}?connectionId=${connectionId}`);
  expect([read.status, read.at('note')]).toEqual([200, 'a']);
  orders = orders.filter((order) => order.id !== 101);
  const gone = await service.call('GET', `/2023-03/one/commerce/orders/${id}?connectionId=${connectionId}`);
  expect([gone.status, gone.text('code')]).toEqual([404, 'record_not_found']);
});

test('polls of a list with places read all places', async () => {
  const made = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: { scope: 'commerce/orders', address: receiver.url },
  });
  expect(made.at('source')).toBe('polling');
  await until(async () => {
    const row = await service.context.db.selectFrom('sources').select('baseline_at').executeTakeFirst();
    return row !== undefined && row.baseline_at !== null;
  });
  const now = new Date().toISOString();
  orders.push({ id: 201, place: 'b', createdAt: now }, { id: 202, place: 'g', createdAt: now });
  const received = await receiver.arrived(2);
  expect(received.map(({ body }) => String(JSON.parse(body).remoteId)).sort()).toEqual(['201', '202']);
});

test('an order that fails to map does not stop the others from being listed', async () => {
  const now = new Date().toISOString();
  orders.push({ id: 203, place: 'g', createdAt: now, label: 5 }, { id: 204, place: 'g', createdAt: now });
  const received = await receiver.arrived(3);
  expect(received.map(({ body }) => String(JSON.parse(body).remoteId))[2]).toBe('204');
  expect((await page(50, 0)).at('leftOut')).toEqual([
    { remoteId: '203', reason: expect.stringContaining('does not fit') },
  ]);
});
