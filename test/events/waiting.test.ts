import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { inboxRound, shortJobRound, pollRound } from '../../src/events/round.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { until } from '../support/events.ts';
import { startService, type Service } from '../support/service.ts';
import { json, startUpstream, type Upstream } from '../support/upstream.ts';

/* Webhooks that name a record which cannot be read now. */

const TELLER = `id: teller
name: Teller
description: An app of the tests.
categories: [commerce]
website: https://teller.example.com
sources: [{title: The tests themselves, read: 2026-11-22}]
baseUrl: '{origin}'
variables: {origin: {title: Address, format: origin}}
authentication: [{type: bearer}]
timeoutSeconds: 3
actions:
  list_orders: {description: Orders., request: GET /orders, paging: {style: none}}
  get_order:
    description: An order.
    request: GET /orders/{orderId}
    path: {orderId: {type: string}}
  add_hook:
    internal: true
    description: A hook.
    request: POST /hooks
    body: {url: {type: string}, secret: {type: string}}
  drop_hook: {internal: true, description: Ends it., request: 'DELETE /hooks/{hookId}', path: {hookId: {type: string}}}
unified:
  commerce/orders:
    list: list_orders
    get: {action: get_order, param: orderId}
    remoteId: id
    map: '{"orderNumber": id}'
webhooks:
  verify: {type: header, header: X-Secret}
  topic: body:what
  topics: {commerce/orders: [{topic: made, event: created, fetchId: id}, {topic: told, event: created, record: order}, {topic: hinted, event: changed}]}
  register:
    create: {action: add_hook, each: all, input: {url: '{address}', secret: '{secret}'}, id: id}
    delete: {action: drop_hook, param: hookId}
`;

const hookSchema = z.object({ url: z.string(), secret: z.string() });
const clock = manualClock();
const signal = new AbortController().signal;
let upstream: Upstream;
let service: Service;
let folder: string;
let userId: string;
let connectionId: string;
let hook: z.infer<typeof hookSchema>;
let asked: string[];
/** How the app answers for an order: as it should, with a status of trouble, or never. */
let answers: 'well' | 'never' | 401 | 403 | 404 | 500;
/** Orders for which it always answers 500. */
let broken: Set<string>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-teller-'));
  mkdirSync(join(folder, 'teller'));
  writeFileSync(join(folder, 'teller', 'connector.yaml'), TELLER);
  upstream = await startUpstream();
  upstream.handler = (req, res) => {
    let text = '';
    req.on('data', (chunk) => (text += String(chunk)));
    req.on('end', () => {
      const id = /^\/orders\/(.+)$/.exec(req.url ?? '')?.[1];
      if (req.method === 'POST') hook = hookSchema.parse(JSON.parse(text));
      if (id === undefined) return json(res, 200, req.url === '/orders' ? [] : { id: 'hook_1' });
      asked.push(id);
      if (answers === 'never') return;
      const status = answers === 'well' ? 200 : answers;
      json(res, broken.has(id) ? 500 : status, { id });
    });
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
  answers = 'well';
  broken = new Set();
  asked = [];
  const made = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'teller', data: { token: 'teller_token', origin: upstream.origin } },
  });
  connectionId = made.text('credentialId');
  await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: { address: 'https://127.0.0.1:9/never', scope: 'commerce/orders' },
  });
  await Promise.all(await pollRound(service.context, { signal, room: 100 }));
  await Promise.all(await shortJobRound(service.context, { signal, room: 100 }));
});

async function send(event: object): Promise<void> {
  const url = `${service.url}${new URL(hook.url).pathname}`;
  const headers = { 'content-type': 'application/json', 'x-secret': hook.secret };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(event) });
  expect(answer.status).toBe(200);
}

async function look(stop = signal): Promise<void> {
  await Promise.all(await inboxRound(service.context, { signal: stop, room: 100 }));
}

async function setState(state: 'active' | 'needs_reconnect'): Promise<void> {
  const { db } = service.context;
  await db.updateTable('credentials').set({ state }).where('credential_id', '=', connectionId).execute();
}

async function stateOf(): Promise<string> {
  const row = await service.context.db
    .selectFrom('credentials')
    .select('state')
    .where('credential_id', '=', connectionId)
    .executeTakeFirstOrThrow();
  return row.state;
}

async function waiting(): Promise<number[]> {
  const rows = await service.context.db
    .selectFrom('inbox')
    .innerJoin('sources', 'sources.source_id', 'inbox.source_id')
    .select('attempts')
    .where('sources.credential_id', '=', connectionId)
    .where('processed_at', 'is', null)
    .execute();
  return rows.map(({ attempts }) => attempts);
}

async function told(): Promise<string[]> {
  const rows = await service.context.db
    .selectFrom('events')
    .innerJoin('sources', 'sources.source_id', 'events.source_id')
    .select('body')
    .where('sources.credential_id', '=', connectionId)
    .execute();
  return rows.map(({ body }) => String(JSON.parse(body).remoteId)).toSorted();
}

test('a webhook waits without a call while its account has to be connected anew, and is told then', async () => {
  await setState('needs_reconnect');
  await send({ what: 'made', id: 'ord_1' });
  await send({ what: 'told', order: { id: 'ord_2' } });
  for (let hours = 0; hours < 48; hours++) {
    await look();
    clock.advance(HOUR);
  }
  expect([asked, await waiting(), await told()]).toEqual([[], [0], ['ord_2']]);
  await setState('active');
  await look();
  expect(await told()).toEqual(['ord_1', 'ord_2']);
});

test('an account that is refused when a record is read has to be connected anew', async () => {
  answers = 401;
  await send({ what: 'made', id: 'ord_1' });
  for (let hours = 0; hours < 24; hours++) {
    await look();
    clock.advance(HOUR);
  }
  expect([asked, await waiting(), await stateOf()]).toEqual([['ord_1'], [0], 'needs_reconnect']);
  answers = 'well';
  await setState('active');
  await look();
  expect(await told()).toEqual(['ord_1']);
});

test.each([500, 'never'] as const)('an app that answers %s is asked once for all that waits', async (how) => {
  answers = how;
  const ids = Array.from({ length: 60 }, (_, n) => `ord_${n}`);
  for (const id of ids) await send({ what: 'made', id });
  await send({ what: 'told', order: { id: 'whole' } });
  await look();
  expect([asked.length, await told()]).toEqual([1, ['whole']]);
  expect(await waiting()).toEqual(ids.map(() => 0));
  answers = 'well';
  clock.advance(MINUTE);
  await look();
  expect(await told()).toEqual([...ids, 'whole'].toSorted());
});

test('what waits for an app that is out is put off without being looked at', async () => {
  const { db } = service.context;
  answers = 500;
  // More than are looked at together.
  for (let n = 0; n < 50; n++) await send({ what: 'made', id: `ord_${n}` });
  clock.advance(1);
  await send({ what: 'made', id: 'unread' });
  await db.updateTable('inbox').set({ body: 'no JSON' }).where('body', 'like', '%unread%').execute();
  await look();
  expect(new Set(await waiting())).toEqual(new Set([0]));
  await look();
  expect(asked).toHaveLength(1);
});

test('webhooks outlive an outage of days, and come within an hour of its end', async () => {
  answers = 500;
  await send({ what: 'made', id: 'ord_1' });
  await send({ what: 'made', id: 'ord_2' });
  for (let hours = 0; hours < 72; hours++) {
    await look();
    clock.advance(HOUR);
  }
  answers = 'well';
  for (let minutes = 0; minutes < 60; minutes++) {
    await look();
    clock.advance(MINUTE);
  }
  expect(await told()).toEqual(['ord_1', 'ord_2']);
});

test('records for which the app fails for ever hold up no other', async () => {
  const ids = Array.from({ length: 40 }, (_, n) => `broken_${n}`);
  broken = new Set(ids);
  for (const id of ids) await send({ what: 'made', id });
  for (let minutes = 0; minutes < 60; minutes++) {
    await look();
    clock.advance(MINUTE);
  }
  asked = [];
  for (const id of ['ord_1', 'ord_2']) await send({ what: 'made', id });
  await look();
  expect([asked.slice(0, 2), await told()]).toEqual([
    ['ord_1', 'ord_2'],
    ['ord_1', 'ord_2'],
  ]);
});

test('a record that the app does not give for more than a week is given up, though not at once', async () => {
  broken = new Set(['broken']);
  await send({ what: 'made', id: 'broken' });
  clock.advance(8 * DAY);
  await look();
  expect(await waiting()).toEqual([1]);
  for (let hours = 0; hours < 12; hours++) {
    clock.advance(HOUR);
    await look();
  }
  expect(await waiting()).toEqual([]);
});

test('the operator hears of a webhook that is given up, and the app may send it again', async () => {
  await service.call('PUT', '/api/settings', { body: { eventsAddress: 'https://127.0.0.1:9/operator' } });
  const logged = service.logged.length;
  const nameless = { what: 'told', order: { total: '1.00' } };
  await send(nameless);
  for (let hours = 0; hours < 12; hours++) {
    await send(nameless);
    await look();
    clock.advance(HOUR);
  }
  expect(await waiting()).toEqual([]);
  const told = await service.context.db
    .selectFrom('events')
    .select('body')
    .where('event', '=', 'poll.gap_risk')
    .execute();
  expect(told.map(({ body }) => JSON.parse(body).data)).toEqual([
    expect.objectContaining({ connectionId, reason: 'A webhook was given up: The webhook names no record.' }),
  ]);
  expect(service.logged.slice(logged).filter((line) => line.includes('given up'))).toHaveLength(1);
  await send(nameless);
  expect(await waiting()).toEqual([0]);
});

test('a record that the app shows only after its webhook is told then', async () => {
  answers = 404;
  await send({ what: 'made', id: 'ord_1' });
  await look();
  answers = 'well';
  clock.advance(15 * SECOND);
  await look();
  expect(await told()).toEqual(['ord_1']);
});

test('a record that is not there is asked for a few times, then no more', async () => {
  answers = 404;
  await send({ what: 'made', id: 'ord_1' });
  for (let seconds = 0; seconds < 600; seconds += 10) {
    await look();
    clock.advance(10 * SECOND);
  }
  expect([asked, await waiting(), await told()]).toEqual([Array(4).fill('ord_1'), [], []]);
});

test('after a word that something changed the app is polled twice, two minutes apart at most', async () => {
  const polls: number[] = [];
  const began = clock.now();
  await send({ what: 'hinted' });
  for (let seconds = 0; seconds < 600; seconds += 10) {
    await look();
    const begun = await pollRound(service.context, { signal, room: 100 });
    await Promise.all(begun);
    if (begun.length > 0) polls.push((clock.now() - began) / SECOND);
    clock.advance(10 * SECOND);
  }
  expect([polls, await waiting()]).toEqual([[0, 90], []]);
});

test('webhooks wait while their connector is not there', async () => {
  const { context } = service;
  const { catalog } = context;
  await send({ what: 'told', order: { id: 'ord_1' } });
  Object.assign(context, { catalog: { ...catalog, connector: () => undefined } });
  try {
    for (let hours = 0; hours < 24; hours++) {
      await look();
      clock.advance(HOUR);
    }
  } finally {
    Object.assign(context, { catalog });
  }
  expect(await waiting()).toEqual([0]);
  await look();
  expect(await told()).toEqual(['ord_1']);
});

test('a record that the app refuses holds up no other', async () => {
  answers = 403;
  await send({ what: 'made', id: 'ord_1' });
  await send({ what: 'made', id: 'ord_2' });
  await look();
  expect(asked).toEqual(['ord_1', 'ord_2']);
});

test('a reading under way ends with the process, and counts as no attempt', async () => {
  answers = 'never';
  await send({ what: 'made', id: 'ord_1' });
  const stop = new AbortController();
  const looked = look(stop.signal);
  await until(() => asked.length === 1);
  const stopped = performance.now();
  stop.abort();
  await looked;
  expect(performance.now() - stopped).toBeLessThan(2000);
  expect(await waiting()).toEqual([0]);
  answers = 'well';
  await look();
  expect(await told()).toEqual(['ord_1']);
});

test('long webhooks are told one by one, before what comes after them is looked at', async () => {
  answers = 'never';
  for (const id of ['long_1', 'long_2'])
    await send({ what: 'told', order: { id, note: '[],'.repeat(100_000) } });
  await send({ what: 'made', id: 'ord_1' });
  const stop = new AbortController();
  const looked = look(stop.signal);
  await until(() => asked.length === 1);
  const before = await told();
  stop.abort();
  await looked;
  expect(before).toEqual(['long_1', 'long_2']);
});
