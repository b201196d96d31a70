import { afterAll, beforeAll, expect, test } from 'vitest';
import { forgetJob } from '../../src/events/forget.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { openApp, type TestedApp } from './app.ts';

/* Apps that behave badly while they are polled, and records that come, change and go in unusual ways. */

let app: TestedApp;
beforeAll(async () => {
  app = await openApp();
});
afterAll(() => app[Symbol.asyncDispose]());

/** A connection that somebody listens to, polled (its webhooks are not registered) and past its first reading. */
async function listening(connectorId: Parameters<TestedApp['connect']>[0], data?: object): Promise<string> {
  const connectionId = await app.connect(connectorId, data);
  await app.subscribe(connectionId);
  await app.poll(connectionId);
  app.clock.advance(MINUTE);
  return connectionId;
}

/** Polls as time goes by. */
async function polls(connectionId: string, times: number, everyMs: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    app.clock.advance(everyMs);
    await app.poll(connectionId);
  }
}

const refusesTheList: TestedApp['instead'] = (url, res) => {
  if (url.pathname !== '/orders') return false;
  app.send(res, 401, {});
  return true;
};

test('an order that is made while the first reading is under way is told', async () => {
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
  await polls(connectionId, 4, 10 * MINUTE);
  expect(await app.told(connectionId)).toEqual(['created during']);
});

test('orders that are made while the first reading cannot settle are told', async () => {
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
  await polls(connectionId, 6, 10 * MINUTE);
  const made = app.orders.slice(4).map(({ id }) => `created ${id}`);
  expect(made.length).toBeGreaterThan(2);
  expect((await app.told(connectionId)).toSorted()).toEqual(made.toSorted());
});

test('a record is told as deleted each time that it is, and a late word of it makes none', async () => {
  const { clock, order } = app;
  const connectionId = await listening('numbered');
  await app.look('jobs');
  const o1 = order('o1');
  const say = async (what: 'made' | 'changed' | 'gone', changedAt = clock.now()) => {
    expect(await app.announce(what, { ...o1, updated_at: new Date(changedAt).toISOString() })).toBe(200);
    await app.look('inbox');
    clock.advance(MINUTE);
  };
  await say('made');
  await say('gone');
  await say('changed', clock.now() - 2 * MINUTE);
  // No clock is so far ahead.
  clock.advance(20 * MINUTE);
  await say('changed');
  await say('gone');
  expect(await app.told(connectionId)).toEqual(['created o1', 'deleted o1', 'created o1', 'deleted o1']);
});

test.each([
  ['before its deletion was heard of', 10 * MINUTE, 0],
  ['after its deletion, by the clock of an app that is behind', 0, 5 * MINUTE],
])(
  'a record that was restored %s is told as there, and can be deleted again',
  async (_name, awayMs, skewMs) => {
    const { clock, order } = app;
    const connectionId = await listening('numbered');
    await app.look('jobs');
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
    expect(await app.told(connectionId)).toEqual(['created o1', 'deleted o1', 'created o1']);
    clock.advance(MINUTE);
    await app.announce('gone', { id: 'o1' });
    await app.look('inbox');
    expect((await app.told(connectionId)).slice(3)).toEqual(['deleted o1']);
  },
);

test('late words of a record that is not there any more make none, and the app is asked once', async () => {
  const { clock, order } = app;
  const connectionId = await listening('numbered');
  await app.look('jobs');
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
  expect(await app.told(connectionId)).toEqual(['deleted o1']);
});

test('an old record that changes before the first reading ended is no new one', async () => {
  const { clock, order } = app;
  const connectionId = await app.connect('numbered');
  const instead = app.instead;
  app.instead = (url, res) => {
    if (url.pathname !== '/orders') return false;
    app.send(res, 500, {});
    return true;
  };
  await app.subscribe(connectionId);
  await app.look('jobs');
  await app.poll(connectionId);
  const old = order('old', clock.now() - 300 * DAY, {
    updated_at: new Date(clock.now() + SECOND).toISOString(),
  });
  await app.announce('changed', old);
  await app.look('inbox');
  app.instead = instead;
  expect(await app.told(connectionId)).toEqual(['updated old']);
});

test('a new order that an app calls changed is told, though its clock is behind and its list did not answer yet', async () => {
  const { clock, order } = app;
  const connectionId = await app.connect('numbered');
  const skewMs = 10 * MINUTE;
  app.instead = (url, res) => {
    if (url.pathname !== '/orders') return false;
    app.send(res, 500, {});
    return true;
  };
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
  await polls(connectionId, 3, HOUR);
  expect(await app.told(connectionId)).toEqual(['created o1']);
});

test('a credential that is refused whatever its token is marked as such, not renewed for ever', async () => {
  const { clock } = app;
  const connectionId = await listening('renewed', { clientId: 'a', clientSecret: 'b' });
  app.instead = refusesTheList;
  clock.advance(10 * MINUTE);
  app.forgetCalls();
  for (let second = 0; second < 20; second++) {
    await app.look('polls');
    clock.advance(SECOND);
  }
  expect(app.calls.filter((call) => call.endsWith('/token')).length).toBeLessThan(3);
  const { state } = await app.service.context.db
    .selectFrom('credentials')
    .select('state')
    .where('credential_id', '=', connectionId)
    .executeTakeFirstOrThrow();
  expect([state, (await app.source(connectionId)).status]).toEqual(['needs_reconnect', 'suspended']);
});

test('an app that wants to be left alone for a year is asked after an hour', async () => {
  const connectionId = await listening('numbered');
  app.instead = (_url, res) => {
    app.send(res, 429, {}, { 'retry-after': '31536000' });
    return true;
  };
  await polls(connectionId, 1, 10 * MINUTE);
  const waitMs = (await app.source(connectionId)).next_poll_at - app.clock.now();
  expect(waitMs).toBeLessThan(2 * HOUR);
});

test('an account that had to be reconnected for long goes on without telling anything twice', async () => {
  const { clock, order } = app;
  const { context } = app.service;
  const connectionId = await listening('numbered');
  for (let n = 0; n < 5; n++) {
    app.orders.push(order(`o${n}`, clock.now() + MINUTE));
    await polls(connectionId, 1, 10 * MINUTE);
  }
  await polls(connectionId, 2, 10 * MINUTE);
  const before = await app.told(connectionId);
  expect(before).toHaveLength(5);
  const set = (state: 'needs_reconnect' | 'active') =>
    context.db
      .updateTable('credentials')
      .set({ state, updated_at: clock.now() })
      .where('credential_id', '=', connectionId)
      .execute();
  await set('needs_reconnect');
  await polls(connectionId, 1, 20 * MINUTE);
  for (let day = 0; day < 40; day++) {
    clock.advance(DAY);
    await forgetJob(context).run({}, new AbortController().signal);
  }
  await set('active');
  await app.look('polls');
  await polls(connectionId, 2, 10 * MINUTE);
  expect(await app.told(connectionId)).toEqual(before);
});

test('a source goes on once its account is mended, though somebody subscribes to it at the same moment', async () => {
  const { clock, order } = app;
  const connectionId = await listening('numbered');
  const { instead } = app;
  app.instead = refusesTheList;
  clock.advance(10 * MINUTE);
  await app.look();
  expect((await app.source(connectionId)).status).toBe('suspended');
  app.instead = instead;
  clock.advance(MINUTE);
  expect((await app.replaceKey(connectionId, 'y')).status).toBe(200);
  const again = await app.service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: { address: 'https://127.0.0.1:9/second', scope: 'commerce/orders' },
  });
  expect(again.status).toBe(201);
  app.orders = [order('o1')];
  await app.look();
  expect(await app.told(connectionId)).toEqual(['created o1']);
});

test('a round that is refused after its account was mended is a failed one, and not the end', async () => {
  const { clock, order } = app;
  const connectionId = await listening('numbered');
  let refuse: (() => void) | undefined;
  app.instead = (url, res) => {
    if (refuse || url.pathname !== '/orders') return false;
    refuse = () => app.send(res, 401, {});
    return true;
  };
  clock.advance(10 * MINUTE);
  const polling = app.poll(connectionId);
  await expect.poll(() => refuse).toBeDefined();
  expect((await app.replaceKey(connectionId, 'y')).status).toBe(200);
  clock.advance(SECOND);
  refuse?.();
  await polling;
  expect(await app.source(connectionId)).toMatchObject({ status: 'active', failures: 1 });
  app.orders = [order('o1')];
  await polls(connectionId, 1, 5 * MINUTE);
  expect(await app.told(connectionId)).toEqual(['created o1']);
});

test('a record that does not fit is left out and told to the operator once; the others are told', async () => {
  const { clock, order, service } = app;
  await service.call('PUT', '/api/settings', { body: { eventsAddress: 'https://127.0.0.1:9/operator' } });
  const connectionId = await listening('numbered');
  app.orders.push(order('o1'), order('unfit', clock.now(), { total: '1e3' }), order('o2'));
  app.orders.push({ ...order('o3'), id: null as unknown as string });
  await polls(connectionId, 3, 2 * MINUTE);
  expect((await app.told(connectionId)).toSorted()).toEqual(['created o1', 'created o2']);
  expect(await app.source(connectionId)).toMatchObject({ failures: 0, status: 'active' });
  const told = await service.context.db
    .selectFrom('events')
    .select('body')
    .where('event', '=', 'poll.gap_risk')
    .execute();
  const warnings = told.filter(({ body }) => body.includes(connectionId));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]?.body).toContain('without an id');
});

test('pages that are too large are asked for in smaller ones', async () => {
  const { order } = app;
  const connectionId = await listening('numbered');
  for (const id of ['o1', 'o2', 'o3', 'o4'])
    app.orders.push({ ...order(id), note: 'x'.repeat(5 * 1024 * 1024) } as (typeof app.orders)[number]);
  await polls(connectionId, 1, 2 * MINUTE);
  expect((await app.told(connectionId)).toSorted()).toEqual(
    ['o1', 'o2', 'o3', 'o4'].map((id) => `created ${id}`),
  );
});

test('a cursor that the app drops in the middle of a long reading costs nothing but a new beginning', async () => {
  const { clock, order } = app;
  const connectionId = await listening('sequential');
  for (let n = 0; n < 300; n++) app.orders.push(order(`o${n}`));
  await polls(connectionId, 1, 2 * MINUTE);
  expect((await app.source(connectionId)).continuation).not.toBeNull();
  let refusals = 0;
  app.instead = (url, res) => {
    if (!url.searchParams.has('after') || refusals++ > 0) return false;
    app.send(res, 400, { message: 'This cursor is not known.' });
    return true;
  };
  for (let round = 0; round < 10; round++) await polls(connectionId, 1, SECOND);
  expect(await app.source(connectionId)).toMatchObject({ continuation: null, failures: 0 });
  expect(new Set(await app.told(connectionId)).size).toBe(300);
  expect(await app.told(connectionId)).toHaveLength(300);
  clock.advance(MINUTE);
});

test.each([
  ['gives the same page whatever is asked for, and says that more follow', true],
  ['gives its whole list whatever is asked for', false],
])('an app that %s is neither read without end nor in vain', async (_name, more) => {
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
  await polls(connectionId, 1, MINUTE);
  orders.push(order('new', clock.now() + SECOND));
  app.forgetCalls();
  await polls(connectionId, 2, 10 * MINUTE);
  expect(app.calls.filter((call) => call.endsWith('/orders')).length).toBeLessThan(20);
  expect((await app.source(connectionId)).next_poll_at).toBeGreaterThan(clock.now());
  expect(await app.told(connectionId)).toEqual(['created new']);
  // The inventory reads all of it, and those of other tests their lists.
  app.forgetCalls();
  await app.look('jobs');
  expect(app.calls.filter((call) => call.endsWith('/orders')).length).toBeLessThan(200);
});

test('a list that grows while it is read settles', async () => {
  const { clock, order } = app;
  const connectionId = await listening('numbered');
  for (let n = 0; n < 7; n++) app.orders.push(order(`o${n}`));
  app.onPage = (offset) => {
    if (offset > 0) return;
    clock.advance(2 * SECOND);
    app.orders.push(order(`grown${app.orders.length}`));
  };
  await polls(connectionId, 1, 2 * MINUTE);
  expect((await app.source(connectionId)).cursor_until).toBeGreaterThan(clock.now() - MINUTE);
});

test('another account under the same connection is listened to anew; another key of the same goes on', async () => {
  const { clock, order } = app;
  const connectionId = await listening('numbered');
  app.orders.push(order('o1'));
  await polls(connectionId, 1, 10 * MINUTE);
  expect((await app.replaceKey(connectionId, 'rotated')).status).toBe(200);
  expect((await app.source(connectionId)).cursor_until).not.toBeNull();
  app.account = 'acct_2';
  expect((await app.replaceKey(connectionId, 'other')).at('account.id')).toBe('acct_2');
  app.instead = (url, res) => {
    if (url.pathname !== '/hooks') return false;
    app.send(res, 403, {});
    return true;
  };
  await app.look('jobs');
  app.account = 'acct_1';
  app.orders = ['o1', 'o2'].map((id) => order(id, clock.now() - 5 * MINUTE));
  await polls(connectionId, 1, MINUTE);
  app.orders.push(order('o3', clock.now() + SECOND));
  await polls(connectionId, 2, 10 * MINUTE);
  expect(await app.told(connectionId)).toEqual(['created o1', 'created o3']);
});

test('what is made from the subscription on is told, though the app is down for hours before the first reading', async () => {
  const { clock, order } = app;
  const connectionId = await app.connect('numbered');
  app.orders = [order('old', clock.now() - DAY), order('before', clock.now() - MINUTE)];
  await app.subscribe(connectionId);
  app.instead = (url, res) => {
    if (url.pathname !== '/orders') return false;
    app.send(res, 503, {});
    return true;
  };
  await app.poll(connectionId);
  for (const id of ['down1', 'down2', 'down3']) {
    clock.advance(HOUR);
    app.orders.push(order(id));
    await app.poll(connectionId);
  }
  app.instead = () => false;
  await polls(connectionId, 2, HOUR);
  app.orders.push(order('up'));
  await polls(connectionId, 2, 10 * MINUTE);
  expect((await app.told(connectionId)).toSorted()).toEqual([
    'created down1',
    'created down2',
    'created down3',
    'created up',
  ]);
});

test('a place that closes while a long reading goes on makes it skip none of the others', async () => {
  const { order } = app;
  const connectionId = await app.connect('placed');
  app.places = ['p1', 'p2'];
  await app.subscribe(connectionId);
  await app.poll(connectionId);
  for (const place of ['p1', 'p2'])
    for (let n = 0; n < 130; n++)
      app.orders.push(order(`${place}-${n}`, app.clock.now() + MINUTE, { place }));
  await polls(connectionId, 1, 5 * MINUTE);
  await polls(connectionId, 1, 2 * SECOND);
  const { continuation } = await app.source(connectionId);
  expect(JSON.parse(continuation ?? '').group).toBe(1);
  app.places = ['p2'];
  for (let round = 0; round < 6; round++) await polls(connectionId, 1, 2 * SECOND);
  const told = await app.told(connectionId);
  expect([told.length, new Set(told).size]).toEqual([260, 260]);
  expect((await app.source(connectionId)).continuation).toBeNull();
});

test('an app with more places than are read says so, and is not heard in part', async () => {
  const connectionId = await app.connect('placed');
  app.places = Array.from({ length: 130 }, (_, n) => `p${n}`);
  app.orders = [app.order('o1', app.clock.now(), { place: 'p1' })];
  await app.subscribe(connectionId);
  await app.poll(connectionId);
  const { baseline_at, reason } = await app.source(connectionId);
  expect([baseline_at, reason]).toEqual([null, expect.stringContaining('list_places')]);
});

/** Refuses what lies further back in the list than so many orders. */
function giveNoMoreThan(most: number): void {
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
    const { clock, order } = app;
    const connectionId = await listening('numbered');
    for (let n = 0; n < count; n++) app.orders.push(order(`o${n}`, clock.now() + n * MINUTE));
    giveNoMoreThan(most);
    clock.advance(4 * DAY);
    for (let round = 0; round < 12; round++) await polls(connectionId, 1, 2 * SECOND);
    expect((await app.told(connectionId)).toSorted()).toEqual(
      app.orders.map(({ id }) => `created ${id}`).toSorted(),
    );
    const { continuation, cursor_until } = await app.source(connectionId);
    expect(continuation).toBeNull();
    expect(cursor_until).toBeGreaterThan(clock.now() - MINUTE);
  },
);

test('a page of a list that is refused once is the end of none: nothing counts as read, and the operator hears of it', async () => {
  const { clock, order, service } = app;
  await service.call('PUT', '/api/settings', { body: { eventsAddress: 'https://127.0.0.1:9/operator' } });
  const connectionId = await listening('numbered');
  // All of one moment: there is no place to go on from.
  for (let n = 0; n < 8; n++) app.orders.push(order(`o${n}`));
  clock.advance(4 * DAY);
  giveNoMoreThan(3);
  await app.poll(connectionId);
  expect(await app.told(connectionId)).toHaveLength(3);
  app.instead = () => false;
  await polls(connectionId, 2, 10 * MINUTE);
  expect((await app.told(connectionId)).toSorted()).toEqual(app.orders.map(({ id }) => `created ${id}`));
  const warnings = await service.context.db
    .selectFrom('events')
    .select('body')
    .where('event', '=', 'poll.gap_risk')
    .execute();
  expect(warnings.filter(({ body }) => body.includes(connectionId))).toHaveLength(1);
});

test('a list that never ends is read with a pause after each round', async () => {
  const { clock, order } = app;
  const connectionId = await listening('numbered');
  let made = 0;
  app.instead = (url, res) => {
    if (url.pathname !== '/orders') return false;
    app.send(res, 200, { orders: [1, 2, 3].map(() => order(`endless${++made}`)), more: true });
    return true;
  };
  await polls(connectionId, 1, 10 * MINUTE);
  const round = made;
  await app.poll(connectionId);
  expect(made).toBe(round);
  clock.advance(SECOND);
  await app.poll(connectionId);
  expect(made).toBe(2 * round);
  app.instead = () => false;
});
