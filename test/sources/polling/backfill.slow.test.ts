import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { until } from '../../support/until.ts';
import { STORE_KINDS } from '../../support/stores.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startService, type Service } from '../../support/service.ts';
import { json, startUpstream } from '../../support/upstream.ts';
import { shopConnector, startShop, type ShopStyle } from './adversary.ts';
import { openApp, type TestedApp } from '../app.ts';

test.each([
  ['one poll', 2],
  ['several polls', 45],
])('a backfill of a list that always changes, in %s, says that it may lack records', async (_name, pages) => {
  await using upstream = await startUpstream();
  const at = new Date(Date.now() - DAY).toISOString();
  let last = 0;
  upstream.handler = (req, res) => {
    const query = new URL(req.url ?? '', upstream.origin).searchParams;
    if (query.has('since')) return json(res, 200, { orders: [], more: false });
    const orders = [1, 2, 3].map(() => ({ id: ++last, created_at: at, updated_at: at }));
    json(res, 200, { orders, more: Number(query.get('offset')) < 3 * (pages - 1) });
  };
  await using backfill = await backfillFrom({ paging: 'offset', order: 'none' }, upstream.origin);
  const { read } = backfill;
  await until(async () => (await read()).at('reason') !== undefined);
  expect((await read()).body).toMatchObject({ status: 'active', backfill: 'done' });
  expect((await read()).text('reason')).toContain('kept changing');
});

test.each(['offset', 'page', 'cursor'] as const)(
  'a backfill of several polls sends each record once though some move (%s)',
  async (paging) => {
    const style = { paging, order: 'ascending' } as const;
    const shop = await startShop();
    shop.style = style;
    shop.setClock(() => Date.now() - DAY);
    const made: string[] = [];
    for (let n = 0; n < 150; n++) made.push(String(shop.create(0)));
    shop.setClock(() => Date.now());
    let pages = 0;
    shop.server.on('request', () => {
      // When the first poll of the listing is about to end, all records move by one.
      if (++pages === 45) shop.remove(1);
    });
    await using receiver = await startReceiver();
    try {
      await using backfill = await backfillFrom(style, shop.url, receiver.url);
      await until(async () => (await backfill.read()).at('backfill') === 'done');
      await receiver.arrived(150);
      const ids = receiver.received.map(({ body }): string => JSON.parse(body).remoteId);
      expect(ids.toSorted((a, b) => Number(a) - Number(b))).toEqual(made);
      const marks = receiver.received.map(({ headers }) => headers['x-svc-backfill']);
      expect([marks.filter((mark) => mark === 'first'), marks.filter((mark) => mark === 'last')]).toEqual([
        ['first'],
        ['last'],
      ]);
      expect((await backfill.read()).at('reason')).toBeUndefined();
    } finally {
      await shop.close();
    }
  },
);

test('a backfill ends and says so where its records exceed the memory limit', async () => {
  await using upstream = await startUpstream();
  // The records are newer than the subscription, so none is sent. Parsed, each takes about ten megabytes.
  const at = new Date(Date.now() + DAY).toISOString();
  const items = `[${'[],'.repeat(240_000)}[]]`;
  let pages = 0;
  upstream.handler = (req, res) => {
    const query = new URL(req.url ?? '', upstream.origin).searchParams;
    if (query.has('since')) return json(res, 200, { orders: [], more: false });
    const id = ++pages;
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(
      `{"orders":[{"id":${id},"created_at":"${at}","updated_at":"${at}","items":${items}}],"more":${id % 60 !== 0}}`,
    );
  };
  await using backfill = await backfillFrom({ paging: 'offset', order: 'none' }, upstream.origin);
  await until(async () => (await backfill.read()).at('backfill') === 'done');
  expect((await backfill.read()).text('reason')).toContain('256 MiB');
  expect(pages).toBeLessThan(60);
});

test('a backfill waits while its subscription is disabled', async () => {
  await using app = await openApp();
  const { call, context } = app.service;
  const connectionId = await app.connect('numbered');
  app.orders = ['o1', 'o2', 'o3'].map((id) => app.order(id, app.clock.now() - 300 * DAY));
  const other = await app.subscribe(connectionId);
  await app.look();
  app.clock.advance(MINUTE);
  const subscriptionId = await backfilled(app, connectionId);
  const path = `/webhooks/${subscriptionId}`;
  // A 410 from its endpoint disables it in the same way.
  await context.db
    .updateTable('subscriptions')
    .set({ status: 'disabled' })
    .where('subscription_id', '=', subscriptionId)
    .execute();
  await app.look('jobs');
  expect((await call('GET', path)).body).toMatchObject({ status: 'disabled', backfill: 'wanted' });
  const recovered = await call('POST', `/webhooks/${other}/recover`, {
    body: { since: '2020-01-01T00:00:00Z' },
  });
  expect(recovered.at('recovered')).toBe(0);

  await call('POST', `${path}/enable`);
  app.clock.advance(MINUTE);
  await app.look('jobs');
  expect((await call('GET', path)).at('backfill')).toBe('done');
  expect((await app.published(connectionId)).toSorted()).toEqual(['created o1', 'created o2', 'created o3']);
});

test.each([
  ['a backfill', { backfill: true }, 500],
  ['an inventory', { events: ['deleted'] }, 403],
])(
  '%s that waits for the first poll of a failing app is checked once a minute',
  async (_name, wish, status) => {
    await using app = await openApp();
    const connectionId = await app.connect('numbered');
    app.refuse(status);
    await app.subscribe(connectionId, ['created'], wish);
    const { signal } = new AbortController();
    let begun = 0;
    for (let second = 0; second < 2 * 60; second++) {
      await app.look();
      begun += (await Promise.all(await app.turns.readings(app.service.context, { signal, freeSlots: 8 })))
        .length;
      app.clock.advance(SECOND);
    }
    expect(begun).toBeGreaterThan(1);
    expect(begun).toBeLessThan(5);
  },
);

/** Creates another subscription of a connection, with a backfill. */
const backfilled = (app: TestedApp, connectionId: string): Promise<string> =>
  app.subscribe(connectionId, ['created'], { address: 'https://127.0.0.1:9/backfilled', backfill: true });

/** Creates such a subscription. Returns functions that read it and the ids of its deliveries. */
async function subscribeToAll(app: TestedApp, connectionId: string) {
  const { service } = app;
  const subscriptionId = await backfilled(app, connectionId);
  return {
    read: () => service.call('GET', `/webhooks/${subscriptionId}`),
    async received(): Promise<string[]> {
      const rows = await service.context.db
        .selectFrom('deliveries')
        .innerJoin('events', 'events.event_id', 'deliveries.event_id')
        .select('body')
        .where('subscription_id', '=', subscriptionId)
        .orderBy('deliveries.sequence')
        .execute();
      return rows.map(({ body }) => JSON.parse(body).remoteId);
    },
  };
}

test.each(STORE_KINDS)(
  'a backfill sends records newer than an earlier subscription, each once (%s)',
  async (kind) => {
    await using app = await openApp(kind);
    const { clock, order } = app;
    const connectionId = await app.connect('numbered');
    app.orders = [order('old', clock.now() - DAY)];
    clock.advance(MINUTE);
    await app.subscribe(connectionId);
    await app.look();
    for (const id of ['between', 'just before']) {
      clock.advance(DAY);
      app.orders.push(order(id));
      await app.look();
    }
    clock.advance(SECOND);
    app.orders.push(order('unseen'));
    const { read, received } = await subscribeToAll(app, connectionId);
    clock.advance(10 * MINUTE);
    app.orders.push(order('after'));
    await app.look();
    clock.advance(SECOND);
    app.orders.push(order('unseen too'));
    await app.look('jobs');
    expect((await read()).body).toMatchObject({ backfill: 'done', status: 'active' });
    clock.advance(10 * MINUTE);
    await app.look();
    expect((await received()).toSorted()).toEqual([
      'after',
      'between',
      'just before',
      'old',
      'unseen',
      'unseen too',
    ]);
  },
);

test('a backfill sends a record from the second in which collecting began', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.connect('numbered');
  clock.advance(SECOND - (clock.now() % SECOND));
  app.orders = [order('old', clock.now() - DAY)];
  const { received } = await subscribeToAll(app, connectionId);
  clock.advance(300);
  app.orders.push(order('just now'));
  clock.advance(300);
  await app.look();
  clock.advance(2 * SECOND);
  await app.look('jobs');
  expect(await received()).toEqual(['old', 'just now']);
});

/** Rejects lists only, as an app with a rate limit does. */
function refuseLists(app: TestedApp): void {
  app.instead = (url, res) => {
    if (url.pathname !== '/orders') return false;
    app.send(res, 429, {});
    return true;
  };
}

test.each(STORE_KINDS)('a checkout that is done while the backfill waits is sent once (%s)', async (kind) => {
  await using app = await openApp(kind);
  const { clock, order } = app;
  const connectionId = await app.connect('timeless');
  const old = order('old', clock.now() - DAY);
  const checkout = order('checkout', clock.now() - 5 * MINUTE);
  app.orders = [old];
  const { read, received } = await subscribeToAll(app, connectionId);
  await app.look();
  refuseLists(app);
  await app.look('jobs');
  app.instead = () => false;
  clock.advance(2 * SECOND);
  app.orders = [old, checkout];
  expect(await app.announce('made', checkout)).toBe(200);
  await app.look('inbox');
  expect(await received()).toEqual(['checkout']);
  clock.advance(HOUR);
  await app.look('jobs');
  expect((await read()).at('backfill')).toBe('done');
  expect(await received()).toEqual(['checkout', 'old']);
});

test('deliveries of a previous account do not exclude records from a backfill', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.connect('timeless');
  const { read, received } = await subscribeToAll(app, connectionId);
  await app.look();
  refuseLists(app);
  await app.look('jobs');
  clock.advance(2 * SECOND);
  await app.announce('made', order('o1'));
  await app.look('inbox');
  app.instead = () => false;
  clock.advance(HOUR);
  app.account = 'acct_2';
  await app.replaceKey(connectionId, 'another');
  // The other account has an old order of that number, too.
  app.orders = [order('o1', clock.now() - DAY)];
  for (let hour = 0; hour < 3; hour++) {
    await app.look('jobs');
    await app.look();
    clock.advance(HOUR);
  }
  expect((await read()).at('backfill')).toBe('done');
  expect(await received()).toEqual(['o1', 'o1']);
});

test.each([
  ['the account must be reconnected', 401],
  ['the app is down', 500],
])('a backfill waits for days while %s', async (_name, status) => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.connect('numbered');
  app.orders = [order('old', clock.now() - DAY)];
  await app.subscribe(connectionId);
  await app.look();
  if (status === 401) app.refuseAccount(status);
  else app.refuse(status);
  const { read, received } = await subscribeToAll(app, connectionId);
  const hours = async (count: number) => {
    for (let hour = 0; hour < count; hour++) {
      clock.advance(HOUR);
      await app.look();
      await app.look('jobs');
    }
  };
  await hours(2);
  app.clearCalls();
  await hours(72);
  const asked = app.calls.filter((call) => call === 'GET /orders').length;
  expect(asked > 0).toBe(status === 500);
  app.recover();
  if (status === 401) await app.replaceKey(connectionId, 'new');
  await hours(3);
  expect((await read()).at('backfill')).toBe('done');
  expect(await received()).toEqual(['old']);
});

/** Creates a subscription with a backfill. Returns functions that read it. */
async function backfillFrom(style: ShopStyle, origin: string, address = 'https://127.0.0.1:9/never') {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-backfill-'));
  const { id, text } = shopConnector(style);
  mkdirSync(join(folder, id));
  writeFileSync(join(folder, id, 'connector.yaml'), text);
  const service: Service = await startService({ catalogFolder: folder, env: { GATEHOUSE_SANDBOX: '0' } });
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const made = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: id, data: { token: 'x', origin } },
  });
  const connectionId = made.text('connectionId');
  const subscribed = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: { address, scope: 'commerce/orders', backfill: true },
  });
  return {
    read: () => service.call('GET', `/webhooks/${subscribed.text('subscriptionId')}`),
    async [Symbol.asyncDispose]() {
      await service.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
