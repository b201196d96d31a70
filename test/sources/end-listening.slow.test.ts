import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { valueAt } from '../../src/lib/json.ts';
import { createBrowser } from '../support/browser.ts';
import { recordReads } from '../support/polls.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { until } from '../support/until.ts';
import { openApp, type TestedApp } from './app.ts';

/* Sources whose connection switches to another account. */

test.each(STORE_KINDS)(
  'a registration during an account switch is repeated for the new account, on %s',
  async (kind) => {
    await using app = await openApp(kind);
    const connectionId = await app.connect('numbered');
    await app.subscribe(connectionId);
    const listed = app.hold('/hooks');
    const registering = app.look('jobs');
    await listed.asked;
    app.clock.advance(1);
    await switchAccount(app, connectionId);
    await listed.answer(200, { hooks: [] });
    await registering;
    await app.look('jobs');
    await app.look('jobs');
    expect(await app.source(connectionId)).toMatchObject({ kind: 'native', hook_state: 'registered' });
    expect(await app.announce('made', app.order('o1'))).toBe(200);
  },
);

test('a source whose webhook address is unknown recovers after the daily check', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('numbered');
  await app.subscribe(connectionId);
  await app.look('jobs');
  await app.service.context.db.updateTable('sources').set({ hook_hash: null }).execute();
  expect(await app.announce('made', app.order('o1'))).toBe(404);
  app.clock.advance(DAY + MINUTE);
  await app.look('jobs');
  expect(await app.announce('made', app.order('o1'))).toBe(200);
});

test.each(STORE_KINDS)(
  'waiting webhooks of the old account are not published for the new one, on %s',
  async (kind) => {
    await using app = await openApp(kind);
    const connectionId = await app.listen('naming');
    app.instead = (url, res) => {
      if (!url.pathname.startsWith('/orders/')) return false;
      app.send(res, 503, {});
      return true;
    };
    expect(await app.announce('made', { id: '250' })).toBe(200);
    await app.look('inbox');
    app.recover();
    await switchAccount(app, connectionId);
    // The other account has an old order of that number, too.
    app.orders = [app.order('250', app.clock.now() - 700 * DAY)];
    await settle(app);
    expect(await app.published(connectionId)).toEqual([]);
  },
);

test('a webhook whose record is read during an account switch publishes nothing', async () => {
  await using app = await openApp();
  const connectionId = await app.listen('naming');
  const record = app.hold('/orders/');
  await app.announce('made', { id: '250' });
  const reading = app.look('inbox');
  await record.asked;
  await switchAccount(app, connectionId);
  await record.answer(200, app.order('250'));
  await reading;
  await settle(app);
  expect(await app.published(connectionId)).toEqual([]);
});

test.each(STORE_KINDS)('a webhook may repeat the event id of the previous account, on %s', async (kind) => {
  await using app = await openApp(kind);
  const connectionId = await app.listen('numbered');
  const order = app.order('250', app.clock.now() + MINUTE);
  await app.announce('made', order);
  await app.look('inbox');
  await switchAccount(app, connectionId);
  await settle(app);
  await app.announce('made', order);
  await app.look('inbox');
  expect(await app.published(connectionId)).toEqual(['created 250', 'created 250']);
});

test('a switch of account and sign-in method publishes only the new account', async () => {
  await using app = await openApp();
  const connectionId = await app.listen('naming');
  const former = app.hooks.findLast(({ topic }) => topic === 'made');
  app.account = 'acct_2';
  await reconnect(app, connectionId, { type: 'api_key', data: { apiKey: 'k', origin: app.origin } });
  expect(await app.announce('made', { id: '250' })).toBe(404);
  await settle(app);
  expect(await app.published(connectionId)).toEqual([]);
  expect(app.hooks.findLast(({ topic }) => topic === 'made')?.url).not.toBe(former?.url);
  app.orders = [app.order('251')];
  expect(await app.announce('made', { id: '251' })).toBe(200);
  await app.look('inbox');
  expect(await app.published(connectionId)).toEqual(['created 251']);
});

test('a source is not polled after an account switch until its keys are pruned', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('numbered');
  const { db } = app.service.context;
  await app.subscribe(connectionId, ['created']);
  app.orders = [app.order('o1', app.clock.now() + MINUTE)];
  await app.look();
  const seen = () => db.selectFrom('seen').select('key').execute();
  expect(await seen()).not.toEqual([]);
  await switchAccount(app, connectionId);
  app.clearCalls();
  await app.look();
  expect(app.calls).toEqual([]);
  await app.look('jobs');
  expect(await seen()).toEqual([]);
  await app.look();
  expect(app.calls).toContain('GET /orders');
});

test.each(STORE_KINDS)('an account without an id is another one at another address, on %s', async (kind) => {
  await using app = await openApp(kind);
  await using other = await openApp();
  const connectionId = await app.connect('nameless');
  await app.subscribe(connectionId, ['created', 'updated']);
  await app.look();
  app.orders = ['1', '2'].map((id) => app.order(id, app.clock.now() + MINUTE));
  await settle(app);
  expect((await app.published(connectionId)).toSorted()).toEqual(['created 1', 'created 2']);
  // The other account counts from 1 as well.
  other.orders = ['1', '2'].map((id) => app.order(id, app.clock.now() + MINUTE));
  expect((await app.replaceKey(connectionId, 'y', { origin: other.origin })).status).toBe(200);
  await settle(app);
  expect((await app.published(connectionId)).slice(2).toSorted()).toEqual(['created 1', 'created 2']);
});

test('an account without an id is the same one with another key', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('nameless');
  await app.subscribe(connectionId);
  await app.look('jobs');
  await app.look();
  const before = await app.source(connectionId);
  expect((await app.replaceKey(connectionId, 'y', { origin: `${app.origin}/` })).status).toBe(200);
  expect(await app.source(connectionId)).toEqual(before);
});

test('an account with the same id at another address is registered at that address', async () => {
  await using app = await openApp();
  await using other = await openApp();
  const connectionId = await app.connect('numbered');
  await app.subscribe(connectionId);
  await app.look('jobs');
  app.orders = [app.order('o1', app.clock.now() + MINUTE)];
  await settle(app);
  const strangers = foreignHooks(app, other);
  other.orders = app.orders;
  expect((await app.replaceKey(connectionId, 'y', { origin: other.origin })).status).toBe(200);
  await settle(app);
  expect(await app.published(connectionId)).toEqual(['created o1']);
  expect(other.hooks).toEqual(expect.arrayContaining(strangers));
  expect(other.hooks).toHaveLength(6);
});

test.each([
  ['with a consumer', false],
  ['without a consumer', true],
])('registrations of others with the same ids at another address stay, %s', async (_when, ends) => {
  await using app = await openApp();
  await using other = await openApp();
  const connectionId = await app.connect('nameless');
  const subscriptionId = await app.subscribe(connectionId);
  await app.look('jobs');
  const strangers = foreignHooks(app, other);
  if (ends) await app.service.call('DELETE', `/webhooks/${subscriptionId}`);
  expect((await app.source(connectionId)).status).toBe(ends ? 'ending' : 'active');
  expect((await app.replaceKey(connectionId, 'y', { origin: other.origin })).status).toBe(200);
  app.clock.advance(DAY);
  await settle(app);
  expect(other.hooks.filter(({ url }) => url === STRANGER)).toEqual(strangers);
});

test.each(STORE_KINDS)(
  'an inventory during an account switch stores nothing of the old account, on %s',
  async (kind) => {
    await using app = await openApp(kind);
    const connectionId = await app.connect('numbered');
    app.orders = [app.order('o1'), app.order('o2')];
    // The first poll publishes records of the seconds before it.
    app.clock.advance(MINUTE);
    await app.subscribe(connectionId);
    await app.look();
    const reading = app.hold('/orders');
    const took = app.look('jobs');
    await reading.asked;
    await switchAccount(app, connectionId);
    // This prunes the keys of the previous account.
    await app.look('jobs');
    await reading.answer(200, { orders: app.orders, more: false });
    await took;
    app.orders = [];
    for (let day = 0; day < 3; day++) {
      await settle(app);
      app.clock.advance(DAY);
    }
    expect(await app.published(connectionId)).toEqual([]);
  },
);

test('an inventory waits until the previous account is pruned', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('numbered');
  app.orders = [app.order('o1'), app.order('o2')];
  // The first poll publishes records of the seconds before it.
  app.clock.advance(MINUTE);
  await app.subscribe(connectionId);
  await app.look();
  await app.look('jobs');
  app.clock.advance(DAY + MINUTE);
  app.orders = [];
  await switchAccount(app, connectionId);
  // Inventories have slots of their own, and may come before the pruning job.
  const begun = await app.turns.readings(app.service.context, {
    signal: new AbortController().signal,
    freeSlots: 9,
  });
  await Promise.all(begun);
  await settle(app);
  expect(await app.published(connectionId)).toEqual([]);
});

test.each(STORE_KINDS)(
  'a backfill that reads during an account switch sends only the new one, on %s',
  async (kind) => {
    await using app = await openApp(kind);
    const connectionId = await app.connect('numbered');
    app.orders = [app.order('old', app.clock.now() - DAY)];
    await app.subscribe(connectionId, ['created'], { backfill: true });
    await app.look();
    const reading = app.hold('/orders');
    const took = app.look('jobs');
    await reading.asked;
    await switchAccount(app, connectionId);
    await reading.answer(200, { orders: app.orders, more: false });
    await took;
    app.orders = [app.order('new', app.clock.now() - 2 * DAY)];
    await settle(app);
    expect(await app.published(connectionId)).toEqual(['created new']);
  },
);

test('a half-done backfill starts with the first record after an account switch', async () => {
  await using app = await openApp();
  const { db } = app.service.context;
  const connectionId = await app.connect('sequential');
  const day = app.clock.now() - DAY;
  app.orders = Array.from({ length: 251 }, (_, n) => app.order(`old${n}`, day + n));
  await app.subscribe(connectionId, ['created'], { backfill: true });
  await app.look();
  await sql`create trigger refused before update on subscriptions when old.backfill = 'running' and new.backfill = 'done'
    begin select raise(abort, 'no room'); end`.execute(db);
  await app.look('jobs');
  await sql`drop trigger refused`.execute(db);
  expect(await app.published(connectionId)).toHaveLength(250);
  await switchAccount(app, connectionId);
  app.orders = ['new1', 'new2'].map((id, n) => app.order(id, day - DAY + n));
  await settle(app);
  expect((await app.published(connectionId)).slice(250).toSorted()).toEqual(['created new1', 'created new2']);
});

test('a webhook that arrives during an account switch publishes nothing', async () => {
  await using app = await openApp();
  const connectionId = await app.listen('numbered');
  const hook = app.hooks.findLast(({ topic }) => topic === 'made');
  const headers = {
    'content-type': 'application/json',
    'x-secret': hook?.secret ?? '',
    expect: '100-continue',
  };
  using reads = recordReads(app.service);
  const sent = request(hook?.url ?? '', { method: 'POST', headers });
  sent.flushHeaders();
  await once(sent, 'continue');
  const body = JSON.stringify({ what: 'made', order: app.order('o1', app.clock.now() + MINUTE) });
  sent.write(body.slice(0, 10));
  // The intake looks up the source as soon as the head arrives.
  await until(() => reads.tables.includes('sources'));
  await switchAccount(app, connectionId);
  sent.end(body.slice(10));
  const [answer]: IncomingMessage[] = await once(sent, 'response');
  expect(answer?.statusCode).toBe(503);
  answer?.resume();
  await settle(app);
  expect(await app.published(connectionId)).toEqual([]);
});

test('a source restarts for another account and continues for another key', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.listen('numbered', { polled: true });
  app.orders.push(order('o1'));
  await app.polls(connectionId, 1, 10 * MINUTE);
  expect((await app.replaceKey(connectionId, 'rotated')).status).toBe(200);
  expect((await app.source(connectionId)).cursor_until).not.toBeNull();
  app.account = 'acct_2';
  expect((await app.replaceKey(connectionId, 'other')).at('account.id')).toBe('acct_2');
  app.refuse(403, '/hooks');
  await app.look('jobs');
  app.account = 'acct_1';
  app.orders = ['o1', 'o2'].map((id) => order(id, clock.now() - 5 * MINUTE));
  await app.polls(connectionId, 1, MINUTE);
  app.orders.push(order('o3', clock.now() + SECOND));
  await app.polls(connectionId, 2, 10 * MINUTE);
  expect(await app.published(connectionId)).toEqual(['created o1', 'created o3']);
});

test('a call for the old account is not made for a new one when its token expires', async () => {
  await using app = await openApp();
  await using other = await openApp();
  const client = { clientId: 'c', clientSecret: 's' };
  const connectionId = await app.connect('renewed', client);
  const subscriptionId = await app.subscribe(connectionId);
  await app.look('jobs');
  const strangers = foreignHooks(app, other);
  await app.service.call('DELETE', `/webhooks/${subscriptionId}`);
  const removal = app.hold('/hooks');
  const removing = app.look('jobs');
  await removal.asked;
  other.account = 'acct_2';
  const { service, userId } = app;
  const replaced = await service.call('PUT', `/users/${userId}/credentials/${connectionId}`, {
    headers: { 'x-svc-userid': userId },
    body: { data: { ...client, origin: other.origin } },
  });
  expect(replaced.at('account.id')).toBe('acct_2');
  other.clearCalls();
  await removal.answer(401, {});
  await removing;
  expect(other.calls).toEqual([]);
  expect(other.hooks).toEqual(strangers);
});

const STRANGER = 'https://erp.example.com/';

/** Returns registrations of others at another app, which numbers them as the first app does. */
function foreignHooks(app: TestedApp, other: TestedApp): TestedApp['hooks'] {
  const hooks = app.hooks.map((hook) => ({ ...hook, url: STRANGER }));
  expect(hooks).toHaveLength(3);
  other.hooks.push(...hooks);
  return hooks;
}

/** Replaces the key by one of another account. */
async function switchAccount(app: TestedApp, connectionId: string): Promise<void> {
  app.account = 'acct_2';
  const replaced = await app.replaceKey(connectionId, 'y');
  expect(replaced.at('account.id')).toBe('acct_2');
}

/** Enters another key through a connect link. */
async function reconnect(app: TestedApp, connectionId: string, keys: object): Promise<void> {
  const { service, userId } = app;
  const asked = await service.call('POST', `/users/${userId}/credentials/${connectionId}/reconnect`, {
    headers: { 'x-svc-userid': userId },
    body: {},
  });
  const browser = createBrowser();
  const opened = await browser.request(
    `${service.url}${new URL(asked.text('authorizationUrl')).pathname}/open`,
    {},
  );
  const ended = await browser.request(
    `${service.url}/connect/sessions/${String(valueAt(opened.body, 'sessionId'))}/credentials`,
    { connectorId: 'naming', ...keys },
  );
  expect(ended.status).toBe(200);
}

/** Runs all work that is due in the next hours. */
async function settle(app: TestedApp): Promise<void> {
  for (let hour = 0; hour < 3; hour++) {
    await app.look('jobs');
    await app.look();
    await app.look('inbox');
    app.clock.advance(HOUR);
  }
}
