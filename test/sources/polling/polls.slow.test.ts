import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { openApp, type TestedApp } from '../app.ts';

/* Lists that grow, end, fail or repeat while they are read. */

test('an order created during the first listing is published', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.connect('sequential');
  app.orders = ['o1', 'o2', 'o3', 'o4', 'o5'].map((id) => order(id));
  clock.advance(MINUTE);
  app.onPage = (offset) => {
    if (offset !== 3 || app.orders.length > 5) return;
    clock.advance(5 * SECOND);
    app.orders.push(order('during'));
  };
  await app.subscribe(connectionId);
  await app.polls(connectionId, 4, 10 * MINUTE);
  expect(await app.published(connectionId)).toEqual(['created during']);
});

test('orders created while the first listing keeps changing are published', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.connect('numbered');
  app.orders = ['o1', 'o2', 'o3', 'o4'].map((id) => order(id));
  clock.advance(MINUTE);
  let pages = 0;
  app.onPage = (offset) => {
    if (pages++ === 0 || offset > 0 || app.orders.length === 12) return;
    clock.advance(2 * SECOND);
    app.orders.push(order(`during${app.orders.length}`));
  };
  await app.subscribe(connectionId);
  await app.polls(connectionId, 6, 10 * MINUTE);
  const made = app.orders.slice(4).map(({ id }) => `created ${id}`);
  expect(made.length).toBeGreaterThan(2);
  expect((await app.published(connectionId)).toSorted()).toEqual(made.toSorted());
});

test('a record that does not fit is left out and reported to the operator once', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  await app.warn();
  const connectionId = await app.listen('numbered', { polled: true });
  app.orders.push(order('o1'), order('mappingError', clock.now(), { total: '1e3' }), order('o2'));
  app.orders.push({ ...order('o3'), id: null as unknown as string });
  await app.polls(connectionId, 3, 2 * MINUTE);
  expect((await app.published(connectionId)).toSorted()).toEqual(['created o1', 'created o2']);
  expect(await app.source(connectionId)).toMatchObject({ failures: 0, status: 'active' });
  const warnings = await app.warnings();
  expect(warnings).toMatchObject([{ connectionId }]);
  expect(JSON.stringify(warnings)).toContain('without an id');
});

test('a page that is too large is requested in smaller ones', async () => {
  await using app = await openApp();
  const { order } = app;
  const connectionId = await app.listen('numbered', { polled: true });
  for (const id of ['o1', 'o2', 'o3', 'o4'])
    app.orders.push({ ...order(id), note: 'x'.repeat(5 * 1024 * 1024) } as (typeof app.orders)[number]);
  await app.polls(connectionId, 1, 2 * MINUTE);
  expect((await app.published(connectionId)).toSorted()).toEqual(
    ['o1', 'o2', 'o3', 'o4'].map((id) => `created ${id}`),
  );
});

test('a long listing starts again when the app drops its cursor, without a loss', async () => {
  await using app = await openApp();
  const { order } = app;
  const connectionId = await app.listen('sequential', { polled: true });
  for (let n = 0; n < 300; n++) app.orders.push(order(`o${n}`));
  await app.polls(connectionId, 1, 2 * MINUTE);
  expect((await app.source(connectionId)).continuation).not.toBeNull();
  let refusals = 0;
  app.instead = (url, res) => {
    if (!url.searchParams.has('after') || refusals++ > 0) return false;
    app.send(res, 400, { message: 'This cursor is not known.' });
    return true;
  };
  await app.polls(connectionId, 10, SECOND);
  expect(await app.source(connectionId)).toMatchObject({ continuation: null, failures: 0 });
  expect(new Set(await app.published(connectionId)).size).toBe(300);
  expect(await app.published(connectionId)).toHaveLength(300);
});

test.each([
  ['always gives the same page and announces more', true],
  ['always gives its whole list', false],
])('an app that %s is read, and not without end', async (_name, more) => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.connect('numbered');
  const orders = ['o1', 'o2', 'o3', 'o4'].slice(0, more ? 3 : 4).map((id) => order(id));
  app.instead = (url, res) => {
    if (url.pathname !== '/orders') return false;
    app.send(res, 200, { orders, more });
    return true;
  };
  clock.advance(MINUTE);
  await app.subscribe(connectionId);
  await app.polls(connectionId, 1, MINUTE);
  orders.push(order('new', clock.now() + SECOND));
  app.clearCalls();
  await app.polls(connectionId, 2, 10 * MINUTE);
  expect(app.calls.filter((call) => call.endsWith('/orders')).length).toBeLessThan(20);
  expect((await app.source(connectionId)).next_poll_at).toBeGreaterThan(clock.now());
  expect(await app.published(connectionId)).toEqual(['created new']);
  // The inventory reads the whole list.
  app.clearCalls();
  await app.look('jobs');
  expect(app.calls.filter((call) => call.endsWith('/orders')).length).toBeLessThan(200);
});

test('a listing of a growing list completes', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.listen('numbered', { polled: true });
  for (let n = 0; n < 7; n++) app.orders.push(order(`o${n}`));
  app.onPage = (offset) => {
    if (offset > 0) return;
    clock.advance(2 * SECOND);
    app.orders.push(order(`grown${app.orders.length}`));
  };
  await app.polls(connectionId, 1, 2 * MINUTE);
  expect((await app.source(connectionId)).cursor_until).toBeGreaterThan(clock.now() - MINUTE);
});

test('orders since the subscription are published though the app was down at first', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.connect('numbered');
  app.orders = [order('old', clock.now() - DAY), order('before', clock.now() - MINUTE)];
  await app.subscribe(connectionId);
  app.refuse(503);
  await app.poll(connectionId);
  for (const id of ['down1', 'down2', 'down3']) {
    clock.advance(HOUR);
    app.orders.push(order(id));
    await app.poll(connectionId);
  }
  app.recover();
  await app.polls(connectionId, 2, HOUR);
  app.orders.push(order('up'));
  await app.polls(connectionId, 2, 10 * MINUTE);
  expect((await app.published(connectionId)).toSorted()).toEqual([
    'created down1',
    'created down2',
    'created down3',
    'created up',
  ]);
});

test('a place that closes during a long listing hides none of the others', async () => {
  await using app = await openApp();
  const { order } = app;
  const connectionId = await app.connect('placed');
  app.places = ['p1', 'p2'];
  await app.subscribe(connectionId);
  await app.poll(connectionId);
  for (const place of ['p1', 'p2'])
    for (let n = 0; n < 130; n++)
      app.orders.push(order(`${place}-${n}`, app.clock.now() + MINUTE, { place }));
  await app.polls(connectionId, 1, 5 * MINUTE);
  await app.polls(connectionId, 1, 2 * SECOND);
  const { continuation } = await app.source(connectionId);
  expect(JSON.parse(continuation ?? '').group).toBe(1);
  app.places = ['p2'];
  await app.polls(connectionId, 6, 2 * SECOND);
  const published = await app.published(connectionId);
  expect([published.length, new Set(published).size]).toEqual([260, 260]);
  expect((await app.source(connectionId)).continuation).toBeNull();
});

test('an app with too many places reports so and publishes nothing', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('placed');
  app.places = Array.from({ length: 130 }, (_, n) => `p${n}`);
  app.orders = [app.order('o1', app.clock.now(), { place: 'p1' })];
  await app.subscribe(connectionId);
  await app.poll(connectionId);
  const { baseline_at, reason } = await app.source(connectionId);
  expect([baseline_at, reason]).toEqual([null, expect.stringContaining('list_places')]);
});

/** Rejects offsets beyond a number of orders. */
function giveNoMoreThan(app: TestedApp, most: number): void {
  app.instead = (url, res) => {
    if (url.pathname !== '/orders' || Number(url.searchParams.get('offset')) < most) return false;
    app.send(res, 400, { message: `The offset may be ${most - 1} at most.` });
    return true;
  };
}

test.each([
  ['in the middle of a poll', 9, 20],
  ['at the end of a poll', 120, 130],
])('a list with an offset limit %s continues at the time of its last order', async (_name, most, count) => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.listen('numbered', { polled: true });
  for (let n = 0; n < count; n++) app.orders.push(order(`o${n}`, clock.now() + n * MINUTE));
  giveNoMoreThan(app, most);
  clock.advance(4 * DAY);
  await app.polls(connectionId, 12, 2 * SECOND);
  expect((await app.published(connectionId)).toSorted()).toEqual(
    app.orders.map(({ id }) => `created ${id}`).toSorted(),
  );
  const { continuation, cursor_until } = await app.source(connectionId);
  expect(continuation).toBeNull();
  expect(cursor_until).toBeGreaterThan(clock.now() - MINUTE);
});

test('a refused page is not the end of a list, and is reported to the operator', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  await app.warn();
  const connectionId = await app.listen('numbered', { polled: true });
  // All orders have one time, so a later lower bound does not help.
  for (let n = 0; n < 8; n++) app.orders.push(order(`o${n}`));
  clock.advance(4 * DAY);
  giveNoMoreThan(app, 3);
  await app.poll(connectionId);
  expect(await app.published(connectionId)).toHaveLength(3);
  app.recover();
  await app.polls(connectionId, 2, 10 * MINUTE);
  expect((await app.published(connectionId)).toSorted()).toEqual(app.orders.map(({ id }) => `created ${id}`));
  expect(await app.warnings()).toMatchObject([{ connectionId }]);
});

test('an endless list is read with a wait after each poll', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.listen('numbered', { polled: true });
  let made = 0;
  app.instead = (url, res) => {
    if (url.pathname !== '/orders') return false;
    app.send(res, 200, { orders: [1, 2, 3].map(() => order(`endless${++made}`)), more: true });
    return true;
  };
  await app.polls(connectionId, 1, 10 * MINUTE);
  const round = made;
  await app.poll(connectionId);
  expect(made).toBe(round);
  clock.advance(SECOND);
  await app.poll(connectionId);
  expect(made).toBe(2 * round);
});
