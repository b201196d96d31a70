import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { requireConnection } from '../../../src/credentials/credential-records.ts';
import { closeListener, takeEvents, openListener } from '../../../src/subscriptions/listener.ts';
import { DAY, HOUR, MINUTE } from '../../../src/lib/clock.ts';
import { openApp } from '../app.ts';

/* Polls, reads and the daily inventory of apps that are down or hide records. */

/** An app with four orders, which is collected by polls and inventories only. */
async function openDepot() {
  const app = await openApp();
  const { clock } = app;
  const add = (id: string) => app.orders.push(app.order(id));
  for (const id of ['a', 'b', 'c', 'd']) add(id);
  // The first poll publishes records of the seconds before it.
  clock.advance(MINUTE);
  const connectionId = await app.connect('finding');
  await app.subscribe(connectionId);
  await app.look();
  await app.look('readings');
  app.clearCalls();
  return {
    app,
    connectionId,
    add,
    /** Lets time pass, and runs due work after each step. */
    async pass(ms: number, everyMs = 30 * MINUTE): Promise<void> {
      for (let passed = 0; passed < ms; passed += everyMs) {
        clock.advance(everyMs);
        await app.look();
        await app.look('readings');
      }
    },
    remove: (id: string) => void (app.orders = app.orders.filter((order) => order.id !== id)),
    published: () => app.published(connectionId),
    /** Returns the ids that were read one by one. */
    asked: () => app.calls.filter((call) => call.includes('/found/')).map((call) => call.split('/').at(-1)),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

const says = (body: string) => (_url: URL, res: ServerResponse) => {
  res.writeHead(200, { 'content-type': 'application/json' }).end(body);
  return true;
};
const DOWN = ['', '{}', '{"message":"We are down for maintenance"}'];

test.each(DOWN)('an app that answers %j to everything loses no order', async (body) => {
  await using depot = await openDepot();
  const { app, connectionId, pass } = depot;
  app.instead = says(body);
  app.clock.advance(HOUR);
  depot.add('meanwhile');
  await pass(3 * HOUR, HOUR);
  const read = await app.service.call('GET', `/2023-03/one/commerce/orders?connectionId=${connectionId}`);
  expect([read.status, read.text('code')]).toEqual([502, 'upstream_failed']);
  app.recover();
  await pass(3 * HOUR, HOUR);
  expect(await depot.published()).toEqual(['created meanwhile']);
});

test.each([...DOWN, '{"found":{}}'])(
  'an app that answers %j for an order has not deleted it',
  async (body) => {
    await using depot = await openDepot();
    const { app } = depot;
    app.hidden = ['a'];
    app.instead = (url, res) => url.pathname.startsWith('/found/') && says(body)(url, res);
    await depot.pass(DAY + HOUR);
    expect(depot.asked()).toContain('a');
    expect(await depot.published()).toEqual([]);
  },
);

test('an order counts as deleted only after null, a list without it, or 410', async () => {
  await using depot = await openDepot();
  const { app } = depot;
  app.hidden = ['a', 'b', 'c', 'd'];
  depot.add('e');
  const answers = new Map([
    ['/found/a', { found: [] }],
    ['/found/b', { found: [null] }],
    ['/found/d', { found: {} }],
  ]);
  app.instead = (url, res) => {
    if (!url.pathname.startsWith('/found/')) return false;
    const body = answers.get(url.pathname);
    app.send(res, body ? 200 : 410, body ?? {});
    return true;
  };
  await depot.pass(2 * DAY, HOUR);
  expect((await depot.published()).toSorted()).toEqual(['created e', 'deleted a', 'deleted b', 'deleted c']);
});

test('continuing failures of polls are reported once, and shown with the subscription', async () => {
  await using depot = await openDepot();
  const { app, connectionId, pass } = depot;
  const listed = () => app.service.call('GET', `/2023-03/one/webhooks?connectionId=${connectionId}`);
  await app.warn();
  for (const times of [1, 2]) {
    app.refuse(403);
    await pass(12 * MINUTE, 6 * MINUTE);
    expect(await app.warnings()).toHaveLength(times - 1);
    await pass(12 * HOUR, HOUR);
    expect(await app.warnings()).toHaveLength(times);
    expect((await listed()).body).toMatchObject({
      data: [{ status: 'active', source: 'native', sourceReason: expect.stringContaining('403') }],
    });
    app.recover();
    await pass(2 * HOUR, HOUR);
    const { body } = await app.service.call(
      'GET',
      `/webhooks/${(await listed()).text('data.0.subscriptionId')}`,
    );
    expect(body).toMatchObject({ source: 'native' });
    expect(body).not.toHaveProperty('sourceReason');
  }
  expect((await app.warnings())[0]).toMatchObject({
    connectionId,
    connectorId: 'finding',
    scope: 'commerce/orders',
    reason: expect.stringMatching(/^3 polls in a row failed, the last one so: .*403/),
  });
});

test('a failed check for deletions is reported to the operator', async () => {
  await using depot = await openDepot();
  const { app, pass } = depot;
  await app.warn();
  // The app gives no second page. All orders have one time, so a later lower bound does not help.
  app.instead = (url, res) => {
    if (url.pathname !== '/orders') return false;
    const isFirst = Number(url.searchParams.get('offset')) === 0;
    app.send(res, isFirst ? 200 : 400, { orders: app.orders, more: true });
    return true;
  };
  await pass(DAY + HOUR, HOUR);
  expect(await app.warnings()).toContainEqual(
    expect.objectContaining({ reason: expect.stringContaining('Deletions were not looked for') }),
  );
});

test('an app with a suddenly empty list is asked for few missing records, not for many', async () => {
  await using depot = await openDepot();
  const { app, pass } = depot;
  await app.warn();
  app.orders = [];
  await pass(2 * DAY, HOUR);
  expect((await depot.published()).toSorted()).toEqual(['a', 'b', 'c', 'd'].map((id) => `deleted ${id}`));
  expect(await app.warnings()).toEqual([]);
  for (let n = 0; n < 11; n++) depot.add(`many${n}`);
  await pass(2 * DAY, HOUR);
  app.orders = [];
  app.clearCalls();
  await pass(2 * DAY, HOUR);
  expect(app.calls).toContain('GET /orders');
  expect(depot.asked()).toEqual([]);
  expect(await app.warnings()).toContainEqual(
    expect.objectContaining({ reason: expect.stringContaining('none of the records') }),
  );
});

test('an outage of days does not end the daily inventory', async () => {
  await using depot = await openDepot();
  const { app, pass } = depot;
  app.refuse(500);
  await pass(3 * DAY, HOUR);
  app.recover();
  depot.remove('a');
  await pass(2 * DAY, HOUR);
  expect(await depot.published()).toEqual(['deleted a']);
});

test('an inventory makes no call until the account is reconnected', async () => {
  await using depot = await openDepot();
  const { app, pass } = depot;
  app.refuseAccount(401);
  depot.remove('a');
  await pass(HOUR);
  app.clearCalls();
  await pass(3 * DAY, HOUR);
  expect(app.calls).toEqual([]);
  app.recover();
  await app.replaceKey(depot.connectionId, 'y');
  await pass(2 * HOUR);
  expect(await depot.published()).toEqual(['deleted a']);
});

test('a hidden record is read once a day, and its deletion is published', async () => {
  await using depot = await openDepot();
  const { app, pass } = depot;
  app.clock.advance(MINUTE);
  for (let n = 0; n < 250; n++) depot.add(`o${n}`);
  await pass(DAY + HOUR, HOUR);
  app.hidden = app.orders.slice(1).map(({ id }) => id);
  depot.remove('o99');
  app.clearCalls();
  await pass(DAY);
  expect(depot.asked()).toHaveLength(253);
  expect(new Set(depot.asked()).size).toBe(253);
  expect((await depot.published()).filter((one) => one.startsWith('deleted'))).toEqual(['deleted o99']);
});

test('orders on which the app fails do not delay other orders', async () => {
  await using depot = await openDepot();
  const { app } = depot;
  app.hidden = ['a', 'b', 'c', 'd'];
  depot.remove('d');
  depot.add('e');
  const refused = new Map([
    ['/found/a', 500],
    ['/found/b', 403],
  ]);
  app.instead = ({ pathname }, res) => {
    const status = refused.get(pathname);
    if (status !== undefined) app.send(res, status, {});
    return status !== undefined;
  };
  await depot.pass(2 * DAY, HOUR);
  expect(await depot.published()).toEqual(['created e', 'deleted d']);
});

test('an order created and deleted between two inventories publishes both', async () => {
  await using depot = await openDepot();
  depot.app.clock.advance(HOUR);
  depot.add('brief');
  await depot.app.look();
  depot.remove('brief');
  await depot.pass(2 * DAY, HOUR);
  expect(await depot.published()).toEqual(['created brief', 'deleted brief']);
});

test('gatehouse listen receives deletions without any subscription', async () => {
  await using depot = await openDepot();
  const { app, connectionId, pass } = depot;
  const { call, context } = app.service;
  const listed = await call('GET', `/2023-03/one/webhooks?connectionId=${connectionId}`);
  await call('DELETE', `/webhooks/${listed.at('data.0.subscriptionId')}`);
  // This deletes the source and its planned jobs.
  await app.look('jobs');
  const credential = await requireConnection(context.db, {
    environment: 'development',
    credentialId: connectionId,
  });
  const source = { credential, scope: 'commerce/orders' as const };
  const listener = await openListener(context, { environment: 'development', source });
  await pass(HOUR);
  depot.remove('a');
  await pass(DAY, HOUR);
  const received = await takeEvents(context, listener, 10);
  expect(received.map(({ event, recordId }) => [event, recordId])).toEqual([['deleted', expect.any(String)]]);
  await closeListener(context, listener.subscriptionId);
});
