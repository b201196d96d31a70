import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { openApp, type TestedApp } from '../app.ts';

/* Lists of apps that grow, end, refuse or repeat themselves while they are read. */

test('an order that is made while the first reading is under way is told', async () => {
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
  expect(await app.told(connectionId)).toEqual(['created during']);
});

test('orders that are made while the first reading cannot settle are told', async () => {
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
  expect((await app.told(connectionId)).toSorted()).toEqual(made.toSorted());
});

test('a record that does not fit is left out and told to the operator once; the others are told', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  await app.warn();
  const connectionId = await app.listen('numbered', { polled: true });
  app.orders.push(order('o1'), order('unfit', clock.now(), { total: '1e3' }), order('o2'));
  app.orders.push({ ...order('o3'), id: null as unknown as string });
  await app.polls(connectionId, 3, 2 * MINUTE);
  expect((await app.told(connectionId)).toSorted()).toEqual(['created o1', 'created o2']);
  expect(await app.source(connectionId)).toMatchObject({ failures: 0, status: 'active' });
  const warnings = await app.warnings();
  expect(warnings).toMatchObject([{ connectionId }]);
  expect(JSON.stringify(warnings)).toContain('without an id');
});

test('pages that are too large are asked for in smaller ones', async () => {
  await using app = await openApp();
  const { order } = app;
  const connectionId = await app.listen('numbered', { polled: true });
  for (const id of ['o1', 'o2', 'o3', 'o4'])
    app.orders.push({ ...order(id), note: 'x'.repeat(5 * 1024 * 1024) } as (typeof app.orders)[number]);
  await app.polls(connectionId, 1, 2 * MINUTE);
  expect((await app.told(connectionId)).toSorted()).toEqual(
    ['o1', 'o2', 'o3', 'o4'].map((id) => `created ${id}`),
  );
});

test('a cursor that the app drops in the middle of a long reading costs nothing but a new beginning', async () => {
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
  expect(new Set(await app.told(connectionId)).size).toBe(300);
  expect(await app.told(connectionId)).toHaveLength(300);
});

test.each([
  ['gives the same page whatever is asked for, and says that more follow', true],
  ['gives its whole list whatever is asked for', false],
])('an app that %s is neither read without end nor in vain', async (_name, more) => {
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
  app.forgetCalls();
  await app.polls(connectionId, 2, 10 * MINUTE);
  expect(app.calls.filter((call) => call.endsWith('/orders')).length).toBeLessThan(20);
  expect((await app.source(connectionId)).next_poll_at).toBeGreaterThan(clock.now());
  expect(await app.told(connectionId)).toEqual(['created new']);
  // The inventory reads all of it.
  app.forgetCalls();
  await app.look('jobs');
  expect(app.calls.filter((call) => call.endsWith('/orders')).length).toBeLessThan(200);
});

test('a list that grows while it is read settles', async () => {
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

test('what is made from the subscription on is told, though the app is down for hours before the first reading', async () => {
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
  expect((await app.told(connectionId)).toSorted()).toEqual([
    'created down1',
    'created down2',
    'created down3',
    'created up',
  ]);
});

test('a place that closes while a long reading goes on makes it skip none of the others', async () => {
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
  const told = await app.told(connectionId);
  expect([told.length, new Set(told).size]).toEqual([260, 260]);
  expect((await app.source(connectionId)).continuation).toBeNull();
});

test('an app with more places than are read says so, and is not heard in part', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('placed');
  app.places = Array.from({ length: 130 }, (_, n) => `p${n}`);
  app.orders = [app.order('o1', app.clock.now(), { place: 'p1' })];
  await app.subscribe(connectionId);
  await app.poll(connectionId);
  const { baseline_at, reason } = await app.source(connectionId);
  expect([baseline_at, reason]).toEqual([null, expect.stringContaining('list_places')]);
});

/** Refuses what lies further back in the list than so many orders. */
function giveNoMoreThan(app: TestedApp, most: number): void {
  app.instead = (url, res) => {
    if (url.pathname !== '/orders' || Number(url.searchParams.get('offset')) < most) return false;
    app.send(res, 400, { message: `The offset may be ${most - 1} at most.` });
    return true;
  };
}

test.each([
  ['in the middle of a round', 9, 20],
  ['where a round ends', 120, 130],
])(
  'an app that gives no offsets beyond a limit, %s, is read from the last order on that it gave',
  async (_name, most, count) => {
    await using app = await openApp();
    const { clock, order } = app;
    const connectionId = await app.listen('numbered', { polled: true });
    for (let n = 0; n < count; n++) app.orders.push(order(`o${n}`, clock.now() + n * MINUTE));
    giveNoMoreThan(app, most);
    clock.advance(4 * DAY);
    await app.polls(connectionId, 12, 2 * SECOND);
    expect((await app.told(connectionId)).toSorted()).toEqual(
      app.orders.map(({ id }) => `created ${id}`).toSorted(),
    );
    const { continuation, cursor_until } = await app.source(connectionId);
    expect(continuation).toBeNull();
    expect(cursor_until).toBeGreaterThan(clock.now() - MINUTE);
  },
);

test('a page of a list that is refused once is the end of none: nothing counts as read, and the operator hears of it', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  await app.warn();
  const connectionId = await app.listen('numbered', { polled: true });
  // All of one moment: there is no place to go on from.
  for (let n = 0; n < 8; n++) app.orders.push(order(`o${n}`));
  clock.advance(4 * DAY);
  giveNoMoreThan(app, 3);
  await app.poll(connectionId);
  expect(await app.told(connectionId)).toHaveLength(3);
  app.recover();
  await app.polls(connectionId, 2, 10 * MINUTE);
  expect((await app.told(connectionId)).toSorted()).toEqual(app.orders.map(({ id }) => `created ${id}`));
  expect(await app.warnings()).toMatchObject([{ connectionId }]);
});

test('a list that never ends is read with a pause after each round', async () => {
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
