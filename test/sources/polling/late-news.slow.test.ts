import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { STORE_KINDS } from '../../support/stores.ts';
import { openApp, type Order, type TestedApp } from '../app.ts';

/*
 * Observations that come late: after newer ones, after the deletion of the record, or before its app was
 * listed.
 */

async function say(app: TestedApp, what: 'made' | 'changed' | 'gone', order: Order): Promise<void> {
  expect(await app.announce(what, order)).toBe(200);
  await app.look('inbox');
  app.clock.advance(SECOND);
}

/** Returns the events as texts such as `created o1 1.00`. */
async function publishedOf(app: TestedApp, connectionId: string): Promise<string[]> {
  const events = await app.events(connectionId);
  return events.map(({ event, remoteId, totalPrice }) => `${event} ${remoteId} ${totalPrice}`);
}

const at = (ms: number) => new Date(ms).toISOString();

test.each(STORE_KINDS)(
  'a poll publishes no state older than that of a webhook during it (%s)',
  async (kind) => {
    await using app = await openApp(kind);
    const connectionId = await app.listen('sequential');
    const { clock, order } = app;
    clock.advance(1.2 * DAY);
    const made = clock.now();
    const newer = order('o1', made, { total: '2.00', updated_at: at(made + 5 * SECOND) });
    app.orders = [order('o1', made, { total: '1.00' }), ...['x', 'y', 'z'].map((id) => order(id))];
    let said = false;
    app.instead = (url, res) => {
      if (said || !url.searchParams.has('after')) return false;
      said = true;
      clock.advance(6 * SECOND);
      void say(app, 'changed', newer).then(() => app.send(res, 200, { orders: [order('z')], more: false }));
      return true;
    };
    await app.look();
    app.orders[0] = newer;
    clock.advance(MINUTE);
    await app.look();
    const published = await publishedOf(app, connectionId);
    expect(published.filter((one) => one.includes('o1'))).toEqual(['created o1 2.00']);
  },
);

test.each(STORE_KINDS)(
  'a webhook with an older state than the published one publishes nothing (%s)',
  async (kind) => {
    await using app = await openApp(kind);
    const connectionId = await app.listen('sequential');
    const { clock, order } = app;
    const made = clock.now();
    const change = (total: string, ms: number) =>
      say(app, 'changed', order('o1', made, { total, updated_at: at(made + ms) }));
    await say(app, 'made', order('o1', made, { total: '1.00' }));
    await change('3.00', 3 * SECOND);
    await change('2.00', 2 * SECOND);
    await change('4.00', 3 * SECOND);
    await change('5.00', 5 * SECOND);
    expect(await publishedOf(app, connectionId)).toEqual([
      'created o1 1.00',
      'updated o1 3.00',
      'updated o1 4.00',
      'updated o1 5.00',
    ]);
  },
);

test('a record whose time of change goes back is published once listed a minute later', async () => {
  await using app = await openApp();
  const connectionId = await app.listen('sequential');
  const { clock, order } = app;
  await app.look();
  const made = clock.now();
  await say(app, 'made', order('o1', made, { total: '1.00' }));
  await say(app, 'changed', order('o1', made, { total: '2.00', updated_at: at(made + DAY) }));
  // The clock of the app was a day ahead, and was set back.
  app.orders = [order('o1', made, { total: '3.00', updated_at: at(made + SECOND) })];
  for (const changed of app.orders) await say(app, 'changed', changed);
  expect(await publishedOf(app, connectionId)).toEqual(['created o1 1.00', 'updated o1 2.00']);
  clock.advance(MINUTE);
  await app.look();
  expect((await publishedOf(app, connectionId)).slice(2)).toEqual(['updated o1 3.00']);
});

test.each(STORE_KINDS)(
  'a late webhook of a deleted record publishes nothing, with a clock ahead (%s)',
  async (kind) => {
    await using app = await openApp(kind);
    const connectionId = await app.listen('sequential');
    const { clock, order } = app;
    await app.look();
    const aheadMs = 5 * MINUTE;
    const made = clock.now() + aheadMs;
    const changed = order('o1', made, { total: '2.00', updated_at: at(made + SECOND) });
    await say(app, 'made', order('o1', made));
    clock.advance(SECOND);
    await say(app, 'gone', changed);
    await say(app, 'changed', changed);
    clock.advance(MINUTE);
    await app.look();
    expect(await app.published(connectionId)).toEqual(['created o1', 'deleted o1']);
    // The record exists again.
    const restored = order('o1', made, { updated_at: at(clock.now() + aheadMs) });
    app.orders = [restored];
    await say(app, 'changed', restored);
    clock.advance(MINUTE);
    await app.look();
    expect((await app.published(connectionId)).slice(2)).toEqual(['created o1']);
  },
);

test('an updated webhook of an unknown record without a time of change is published', async () => {
  await using app = await openApp();
  const connectionId = await app.listen('timeless');
  await say(app, 'changed', app.order('old', app.clock.now() - 300 * DAY, { total: '2.00' }));
  expect(await publishedOf(app, connectionId)).toEqual(['updated old 2.00']);
});

test('each deletion of a record is published, and a late webhook of it is not', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.listen('numbered');
  const o1 = order('o1');
  const say = async (what: 'made' | 'changed' | 'gone', changedAt = clock.now()) => {
    expect(await app.announce(what, { ...o1, updated_at: new Date(changedAt).toISOString() })).toBe(200);
    await app.look('inbox');
    clock.advance(MINUTE);
  };
  await say('made');
  await say('gone');
  await say('changed', clock.now() - 2 * MINUTE);
  // No clock is this far ahead.
  clock.advance(20 * MINUTE);
  await say('changed');
  await say('gone');
  expect(await app.published(connectionId)).toEqual(['created o1', 'deleted o1', 'created o1', 'deleted o1']);
});

test.each([
  ['before its deletion was observed', 10 * MINUTE, 0],
  ['after its deletion, by the clock of an app that is behind', 0, 5 * MINUTE],
])('a record restored %s is published, and can be deleted again', async (_name, awayMs, skewMs) => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.listen('numbered');
  await app.look();
  clock.advance(10 * MINUTE);
  const o1 = order('o1', clock.now() - skewMs);
  app.orders = [o1];
  await app.announce('made', o1);
  await app.look('inbox');
  clock.advance(MINUTE);
  const restored = { ...o1, updated_at: new Date(clock.now() - skewMs + MINUTE).toISOString() };
  clock.advance(awayMs);
  await app.announce('gone', { id: 'o1' });
  await app.look('inbox');
  clock.advance(awayMs > 0 ? 0 : MINUTE);
  app.orders = [restored];
  await app.announce('changed', restored);
  await app.look('inbox');
  clock.advance(2 * MINUTE);
  await app.look();
  expect(await app.published(connectionId)).toEqual(['created o1', 'deleted o1', 'created o1']);
  clock.advance(MINUTE);
  await app.announce('gone', { id: 'o1' });
  await app.look('inbox');
  expect((await app.published(connectionId)).slice(3)).toEqual(['deleted o1']);
});

test('late webhooks of a deleted record publish nothing and cause one poll', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.listen('numbered');
  await app.look();
  const o1 = order('o1');
  await app.announce('gone', { id: 'o1' });
  await app.look('inbox');
  await app.announce('made', o1);
  await app.announce('changed', { ...o1, total: '2.00' });
  await app.look('inbox');
  const dueIn = async () => (await app.source(connectionId)).next_poll_at - clock.now();
  expect(await dueIn()).toBe(MINUTE);
  clock.advance(MINUTE);
  await app.look();
  expect(await dueIn()).toBeGreaterThan(HOUR);
  expect(await app.published(connectionId)).toEqual(['deleted o1']);
});

test('an old record that changes during the first listing is not published as new', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.connect('numbered');
  app.refuse(500);
  await app.subscribe(connectionId);
  await app.look('jobs');
  await app.poll(connectionId);
  const old = order('old', clock.now() - 300 * DAY, {
    updated_at: new Date(clock.now() + SECOND).toISOString(),
  });
  await app.announce('changed', old);
  await app.look('inbox');
  expect(await app.published(connectionId)).toEqual(['updated old']);
});

test('a new order in an updated webhook before the first poll counts as created', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.connect('numbered');
  const skewMs = 10 * MINUTE;
  app.refuse(500);
  await app.subscribe(connectionId);
  await app.look('jobs');
  await app.poll(connectionId);
  clock.advance(2 * MINUTE);
  const o1 = order('o1', clock.now() - skewMs);
  await app.announce('changed', o1);
  await app.look('inbox');
  app.instead = (url, res) => {
    if (url.pathname !== '/orders') return false;
    const date = new Date(clock.now() - skewMs).toUTCString();
    app.send(res, 200, { orders: [o1], more: false }, { date });
    return true;
  };
  await app.polls(connectionId, 3, HOUR);
  expect(await app.published(connectionId)).toEqual(['created o1']);
});

test('a record created while the first answer of an app arrives is published', async () => {
  await using app = await openApp();
  const { clock } = app;
  const connectionId = await app.connect('numbered');
  await app.subscribe(connectionId, ['created']);
  const list = app.hold('/orders');
  const polling = app.look();
  await list.asked;
  // The answer takes eight seconds, and its Date is that of the answer.
  clock.advance(4 * SECOND);
  app.orders = [app.order('o1')];
  clock.advance(4 * SECOND);
  await list.answer(200, { orders: app.orders, more: false });
  await polling;
  await app.polls(connectionId, 3, 5 * MINUTE);
  expect(await app.published(connectionId)).toEqual(['created o1']);
});
