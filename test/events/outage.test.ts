import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { requireConnection } from '../../src/credentials/records.ts';
import { closeListener, hear, openListener } from '../../src/events/listener.ts';
import { readingRound, pollRound } from '../../src/events/round.ts';
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { startService, type Service } from '../support/service.ts';
import { json, startUpstream, type Upstream } from '../support/upstream.ts';

/* What an app that is down, or hides what it has, does to polls, reads and the daily inventory. */

const DEPOT = `id: depot
name: Depot
description: An app of the tests.
categories: [commerce]
website: https://depot.example.com
sources: [{title: The tests themselves, read: 2026-11-22}]
baseUrl: '{origin}'
variables: {origin: {title: Address, format: origin}}
authentication: [{type: bearer}]
actions:
  list_orders:
    description: Orders.
    request: GET /orders
    query: {since: {type: string}}
    paging: {style: none}
    response: {data: orders}
  get_order:
    description: An order.
    request: GET /orders/{orderId}
    path: {orderId: {type: string}}
    response: {data: found.0}
unified:
  commerce/orders:
    list: list_orders
    get: {action: get_order, param: orderId}
    remoteId: id
    createdAt: createdAt
    updatedAt: updatedAt
    map: '{"orderNumber": id}'
    poll: {since: since}
`;

type Order = Record<'id' | 'createdAt' | 'updatedAt', string>;

const clock = manualClock();
const signal = new AbortController().signal;
let upstream: Upstream;
let service: Service;
let folder: string;
let userId: string;
let connectionId: string;
let orders: Order[];
/** What the list does not show although it is there. */
let hidden: string[];
let asked: string[];
/** What the app does instead of answering as it should. */
let trouble: ((res: ServerResponse, id: string | undefined) => boolean) | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-depot-'));
  mkdirSync(join(folder, 'depot'));
  writeFileSync(join(folder, 'depot', 'connector.yaml'), DEPOT);
  upstream = await startUpstream();
  upstream.handler = (req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '', upstream.origin);
    const id = /^\/orders\/(.+)$/.exec(pathname)?.[1];
    asked.push(id ?? 'list');
    if (trouble?.(res, id)) return;
    const date = new Date(clock.now()).toUTCString();
    if (id !== undefined) return json(res, 200, { found: orders.filter((one) => one.id === id) }, { date });
    const since = Date.parse(searchParams.get('since') ?? '1970-01-01');
    const shown = orders.filter((one) => !hidden.includes(one.id) && Date.parse(one.updatedAt) >= since);
    json(res, 200, { orders: shown.map((one) => ({ ...one })) }, { date });
  };
  service = await startService({
    clock,
    catalogFolder: folder,
    env: { GATEHOUSE_SANDBOX: '0', LOG_LEVEL: 'error' },
  });
  await service.context.sources.close();
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
});
afterAll(async () => {
  await service.stop();
  await upstream[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  trouble = undefined;
  orders = [];
  hidden = [];
  asked = [];
  for (const id of ['a', 'b', 'c', 'd']) add(id);
  const headers = { 'x-svc-userid': userId };
  if (connectionId) await service.call('DELETE', `/users/${userId}/credentials/${connectionId}`, { headers });
  const made = await service.call('POST', `/users/${userId}/credentials`, {
    headers,
    body: { connectorId: 'depot', data: { token: 'depot_token', origin: upstream.origin } },
  });
  connectionId = made.text('credentialId');
  await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: {
      address: 'https://127.0.0.1:9/never',
      scope: 'commerce/orders',
      events: ['created', 'updated', 'deleted'],
    },
  });
  await poll();
  await jobs();
  asked = [];
});

function add(id: string): void {
  const now = new Date(clock.now()).toISOString();
  orders.push({ id, createdAt: now, updatedAt: now });
}

async function poll(): Promise<void> {
  await Promise.all(await pollRound(service.context, { signal, room: 100 }));
}

async function jobs(): Promise<void> {
  await Promise.all(await readingRound(service.context, { signal, room: 100 }));
}

/** So much time, with what is due in it done as often as it may be. */
async function pass(ms: number, everyMs = 5 * MINUTE): Promise<void> {
  for (let passed = 0; passed < ms; passed += everyMs) {
    clock.advance(everyMs);
    await poll();
    await jobs();
  }
}

async function setState(state: 'active' | 'needs_reconnect'): Promise<void> {
  const { db } = service.context;
  await db.updateTable('credentials').set({ state }).where('credential_id', '=', connectionId).execute();
}

async function told(): Promise<string[]> {
  const rows = await service.context.db
    .selectFrom('events')
    .innerJoin('sources', 'sources.source_id', 'events.source_id')
    .select(['event', 'body'])
    .where('sources.credential_id', '=', connectionId)
    .orderBy('event_id')
    .execute();
  return rows.map(({ event, body }) => `${event} ${JSON.parse(body).remoteId}`);
}

const says = (body: string) => (res: ServerResponse) => {
  res.writeHead(200, { 'content-type': 'application/json' }).end(body);
  return true;
};
const DOWN = ['', '{}', '{"message":"We are down for maintenance"}'];

test.each(DOWN)('an app that answers %j to everything loses no order', async (body) => {
  trouble = says(body);
  clock.advance(HOUR);
  add('meanwhile');
  await pass(3 * HOUR, HOUR);
  const read = await service.call('GET', `/2023-03/one/commerce/orders?connectionId=${connectionId}`);
  expect([read.status, read.text('code')]).toEqual([502, 'upstream_failed']);
  trouble = undefined;
  await pass(3 * HOUR, HOUR);
  expect(await told()).toEqual(['created meanwhile']);
});

test.each([...DOWN, '{"found":{}}'])(
  'an app that answers %j for an order has not deleted it',
  async (body) => {
    hidden = ['a'];
    trouble = (res, id) => id !== undefined && says(body)(res);
    await pass(DAY + HOUR);
    expect(asked).toContain('a');
    expect(await told()).toEqual([]);
  },
);

test('an order is gone where the app says null, a list without it, or 410; nothing else says so', async () => {
  hidden = ['a', 'b', 'c', 'd'];
  add('e');
  const answers = new Map([
    ['a', '{"found":[]}'],
    ['b', '{"found":[null]}'],
    ['d', '{"found":{}}'],
  ]);
  trouble = (res, id) => {
    if (id === undefined) return false;
    const body = answers.get(id);
    res.writeHead(body === undefined ? 410 : 200, { 'content-type': 'application/json' }).end(body ?? '{}');
    return true;
  };
  await pass(2 * DAY, HOUR);
  expect((await told()).toSorted()).toEqual(['created e', 'deleted a', 'deleted b', 'deleted c']);
});

test('an app whose list is empty at once is asked for few that it had, not for many', async () => {
  const kept = orders;
  orders = [];
  await pass(2 * DAY, HOUR);
  expect((await told()).toSorted()).toEqual(kept.map(({ id }) => `deleted ${id}`));
  for (let n = 0; n < 11; n++) add(`many${n}`);
  await pass(2 * DAY, HOUR);
  orders = [];
  asked.length = 0;
  await pass(2 * DAY, HOUR);
  expect(asked.every((one) => one === 'list')).toBe(true);
});

test('an outage of days does not end the daily inventory', async () => {
  trouble = (res) => {
    json(res, 500, {});
    return true;
  };
  await pass(3 * DAY, HOUR);
  trouble = undefined;
  orders = orders.slice(1);
  await pass(2 * DAY, HOUR);
  expect(await told()).toEqual(['deleted a']);
});

test('an inventory asks nobody while the account waits to be connected anew, and goes on once it is', async () => {
  trouble = (res) => {
    json(res, 401, {});
    return true;
  };
  orders = orders.slice(1);
  await pass(HOUR);
  asked = [];
  await pass(3 * DAY, HOUR);
  expect(asked).toEqual([]);
  trouble = undefined;
  await setState('active');
  await pass(2 * HOUR);
  expect(await told()).toEqual(['deleted a']);
});

test('what the list hides is asked for once a day, and what is gone behind it is told soon', async () => {
  clock.advance(MINUTE);
  for (let n = 0; n < 250; n++) add(`o${n}`);
  await pass(DAY + HOUR, HOUR);
  hidden = orders.slice(1).map(({ id }) => id);
  orders = orders.filter(({ id }) => id !== 'o99');
  asked = [];
  await pass(DAY);
  const questions = asked.filter((one) => one !== 'list');
  expect(questions).toHaveLength(253);
  expect(new Set(questions).size).toBe(253);
  expect((await told()).filter((one) => one.startsWith('deleted'))).toEqual(['deleted o99']);
});

test('orders for which the app fails or refuses hold up nobody', async () => {
  hidden = ['a', 'b', 'c', 'd'];
  orders = orders.filter(({ id }) => id !== 'd');
  add('e');
  trouble = (res, id) => {
    if (id !== 'a' && id !== 'b') return false;
    json(res, id === 'a' ? 500 : 403, {});
    return true;
  };
  await pass(2 * DAY, HOUR);
  expect(await told()).toEqual(['created e', 'deleted d']);
});

test('an order made and removed between two inventories is told as both', async () => {
  clock.advance(HOUR);
  add('brief');
  await poll();
  orders = orders.filter(({ id }) => id !== 'brief');
  await pass(2 * DAY, HOUR);
  expect(await told()).toEqual(['created brief', 'deleted brief']);
});

test('who runs gatehouse listen alone hears of what is removed', async () => {
  const { context } = service;
  const listed = await service.call('GET', `/2023-03/one/webhooks?connectionId=${connectionId}`);
  await service.call('DELETE', `/webhooks/${listed.at('data.0.subscriptionId')}`);
  const credential = await requireConnection(context.db, {
    environment: 'development',
    credentialId: connectionId,
  });
  const source = { credential, scope: 'commerce/orders' as const };
  const listener = await openListener(context, { environment: 'development', source });
  await pass(HOUR);
  orders = orders.filter(({ id }) => id !== 'a');
  await pass(DAY, HOUR);
  const heard = await hear(context, listener, 10);
  expect(heard.map(({ event, recordId }) => [event, recordId])).toEqual([['deleted', expect.any(String)]]);
  await closeListener(context, listener.subscriptionId);
});
