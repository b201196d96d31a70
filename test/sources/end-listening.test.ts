import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { readingRound } from '../../src/sources/rounds.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { valueAt } from '../../src/lib/json.ts';
import { createBrowser } from '../support/browser.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { openApp, type TestedApp } from './app.ts';

/* What becomes of a source whose connection leads to another account. */

test.each(STORE_KINDS)(
  'a registration under way when another account takes the place is made anew there, and heard, on %s',
  async (kind) => {
    await using app = await openApp(kind);
    const connectionId = await app.connect('numbered');
    await app.subscribe(connectionId);
    const listed = app.hold('/hooks');
    const registering = app.look('jobs');
    await listed.asked;
    app.clock.advance(1);
    await takePlace(app, connectionId);
    await listed.answer(200, { hooks: [] });
    await registering;
    await app.look('jobs');
    await app.look('jobs');
    expect(await app.source(connectionId)).toMatchObject({ kind: 'native', hook_state: 'registered' });
    expect(await app.announce('made', app.order('o1'))).toBe(200);
  },
);

test('a source whose webhooks lead nowhere is heard again after the daily look', async () => {
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
  'webhooks of the account before, which waited, are not told as records of the other one, on %s',
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
    await takePlace(app, connectionId);
    // The other one has an order of that number, too, and it is old.
    app.orders = [app.order('250', app.clock.now() - 700 * DAY)];
    await settle(app);
    expect(await app.told(connectionId)).toEqual([]);
  },
);

test('a webhook whose record is being read when another account takes the place tells nothing', async () => {
  await using app = await openApp();
  const connectionId = await app.listen('naming');
  const record = app.hold('/orders/');
  await app.announce('made', { id: '250' });
  const reading = app.look('inbox');
  await record.asked;
  await takePlace(app, connectionId);
  await record.answer(200, app.order('250'));
  await reading;
  await settle(app);
  expect(await app.told(connectionId)).toEqual([]);
});

test.each(STORE_KINDS)(
  'what a webhook of the account before said may be said by one of the other, on %s',
  async (kind) => {
    await using app = await openApp(kind);
    const connectionId = await app.listen('numbered');
    const order = app.order('250', app.clock.now() + MINUTE);
    await app.announce('made', order);
    await app.look('inbox');
    await takePlace(app, connectionId);
    await settle(app);
    await app.announce('made', order);
    await app.look('inbox');
    expect(await app.told(connectionId)).toEqual(['created 250', 'created 250']);
  },
);

test('a person who leads a connection to another account, by another way to sign in, is told of that one alone', async () => {
  await using app = await openApp();
  const connectionId = await app.listen('naming');
  const former = app.hooks.findLast(({ topic }) => topic === 'made');
  app.account = 'acct_2';
  await reconnect(app, connectionId, { type: 'api_key', data: { apiKey: 'k', origin: app.origin } });
  expect(await app.announce('made', { id: '250' })).toBe(404);
  await settle(app);
  expect(await app.told(connectionId)).toEqual([]);
  expect(app.hooks.findLast(({ topic }) => topic === 'made')?.url).not.toBe(former?.url);
  app.orders = [app.order('251')];
  expect(await app.announce('made', { id: '251' })).toBe(200);
  await app.look('inbox');
  expect(await app.told(connectionId)).toEqual(['created 251']);
});

test('a process that is killed before it has forgotten the account before leaves that to the next one', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('numbered');
  const { db } = app.service.context;
  await app.subscribe(connectionId, ['created']);
  app.orders = [app.order('o1', app.clock.now() + MINUTE)];
  await app.look();
  const seen = () => db.selectFrom('seen').select('key').execute();
  expect(await seen()).not.toEqual([]);
  await takePlace(app, connectionId);
  app.forgetCalls();
  await app.look();
  expect(app.calls).toEqual([]);
  await app.look('jobs');
  expect(await seen()).toEqual([]);
  await app.look();
  expect(app.calls).toContain('GET /orders');
});

test.each(STORE_KINDS)(
  'of an app that does not tell whose account it is, another address is another account, on %s',
  async (kind) => {
    await using app = await openApp(kind);
    await using other = await openApp();
    const connectionId = await app.connect('nameless');
    await app.subscribe(connectionId, ['created', 'updated']);
    await app.look();
    app.orders = ['1', '2'].map((id) => app.order(id, app.clock.now() + MINUTE));
    await settle(app);
    expect((await app.told(connectionId)).toSorted()).toEqual(['created 1', 'created 2']);
    // The other one counts from 1 as well.
    other.orders = ['1', '2'].map((id) => app.order(id, app.clock.now() + MINUTE));
    expect((await app.replaceKey(connectionId, 'y', { origin: other.origin })).status).toBe(200);
    await settle(app);
    expect((await app.told(connectionId)).slice(2).toSorted()).toEqual(['created 1', 'created 2']);
  },
);

test('of an app that does not tell whose account it is, another key for the same address goes on', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('nameless');
  await app.subscribe(connectionId);
  await app.look('jobs');
  await app.look();
  const before = await app.source(connectionId);
  expect((await app.replaceKey(connectionId, 'y', { origin: `${app.origin}/` })).status).toBe(200);
  expect(await app.source(connectionId)).toEqual(before);
});

test('an account at another address is still the same where the app tells so, and registered there anew', async () => {
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
  expect(await app.told(connectionId)).toEqual(['created o1']);
  expect(other.hooks).toEqual(expect.arrayContaining(strangers));
  expect(other.hooks).toHaveLength(6);
});

test.each([
  ['while somebody listens', false],
  ['when nobody listens any more', true],
])('what others registered at another address under the same ids stays there, %s', async (_when, ends) => {
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
  'an inventory under way when another account takes the place remembers nothing of the one before, on %s',
  async (kind) => {
    await using app = await openApp(kind);
    const connectionId = await app.connect('numbered');
    app.orders = [app.order('o1'), app.order('o2')];
    await app.subscribe(connectionId);
    await app.look();
    const reading = app.hold('/orders');
    const took = app.look('jobs');
    await reading.asked;
    await takePlace(app, connectionId);
    // What was seen is forgotten by then.
    await app.look('jobs');
    await reading.answer(200, { orders: app.orders, more: false });
    await took;
    app.orders = [];
    for (let day = 0; day < 3; day++) {
      await settle(app);
      app.clock.advance(DAY);
    }
    expect(await app.told(connectionId)).toEqual([]);
  },
);

test('an inventory waits until what was seen of the account before is forgotten', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('numbered');
  app.orders = [app.order('o1'), app.order('o2')];
  await app.subscribe(connectionId);
  await app.look();
  await app.look('jobs');
  app.clock.advance(DAY + MINUTE);
  app.orders = [];
  await takePlace(app, connectionId);
  // Readings have slots of their own, and may come before the job that forgets.
  const begun = await readingRound(app.service.context, { signal: new AbortController().signal, room: 9 });
  await Promise.all(begun);
  await settle(app);
  expect(await app.told(connectionId)).toEqual([]);
});

test.each(STORE_KINDS)(
  'a backfill that was reading when another account takes the place tells of that one alone, on %s',
  async (kind) => {
    await using app = await openApp(kind);
    const connectionId = await app.connect('numbered');
    app.orders = [app.order('old', app.clock.now() - DAY)];
    await app.subscribe(connectionId, ['created'], { backfill: true });
    await app.look();
    const reading = app.hold('/orders');
    const took = app.look('jobs');
    await reading.asked;
    await takePlace(app, connectionId);
    await reading.answer(200, { orders: app.orders, more: false });
    await took;
    app.orders = [app.order('new', app.clock.now() - 2 * DAY)];
    await settle(app);
    expect(await app.told(connectionId)).toEqual(['created new']);
  },
);

test('a backfill that came half way when another account takes the place begins with the first record of that one', async () => {
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
  expect(await app.told(connectionId)).toHaveLength(250);
  await takePlace(app, connectionId);
  app.orders = ['new1', 'new2'].map((id, n) => app.order(id, day - DAY + n));
  await settle(app);
  expect((await app.told(connectionId)).slice(250).toSorted()).toEqual(['created new1', 'created new2']);
});

test('a webhook that is still coming when another account takes the place tells nothing', async () => {
  await using app = await openApp();
  const connectionId = await app.listen('numbered');
  const hook = app.hooks.findLast(({ topic }) => topic === 'made');
  const headers = {
    'content-type': 'application/json',
    'x-secret': hook?.secret ?? '',
    expect: '100-continue',
  };
  const sent = request(hook?.url ?? '', { method: 'POST', headers });
  sent.flushHeaders();
  await once(sent, 'continue');
  const body = JSON.stringify({ what: 'made', order: app.order('o1', app.clock.now() + MINUTE) });
  sent.write(body.slice(0, 10));
  // The source is looked up as soon as the head is there.
  await sleep(50);
  await takePlace(app, connectionId);
  sent.end(body.slice(10));
  const [answer]: IncomingMessage[] = await once(sent, 'response');
  expect(answer?.statusCode).toBe(503);
  answer?.resume();
  await settle(app);
  expect(await app.told(connectionId)).toEqual([]);
});

test('another account under the same connection is listened to anew; another key of the same goes on', async () => {
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
  expect(await app.told(connectionId)).toEqual(['created o1', 'created o3']);
});

test('what is asked of the account before, when its tokens end, is not asked of another one', async () => {
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
  other.forgetCalls();
  await removal.answer(401, {});
  await removing;
  expect(other.calls).toEqual([]);
  expect(other.hooks).toEqual(strangers);
});

const STRANGER = 'https://erp.example.com/';

/** Webhooks of somebody else at another app, which counts them as the first one does. */
function foreignHooks(app: TestedApp, other: TestedApp): TestedApp['hooks'] {
  const hooks = app.hooks.map((hook) => ({ ...hook, url: STRANGER }));
  expect(hooks).toHaveLength(3);
  other.hooks.push(...hooks);
  return hooks;
}

/** A key of another account replaces the one that is there. */
async function takePlace(app: TestedApp, connectionId: string): Promise<void> {
  app.account = 'acct_2';
  const replaced = await app.replaceKey(connectionId, 'y');
  expect(replaced.at('account.id')).toBe('acct_2');
}

/** A person opens a link and fills in another key. */
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

/** All that is due in the next hours. */
async function settle(app: TestedApp): Promise<void> {
  for (let hour = 0; hour < 3; hour++) {
    await app.look('jobs');
    await app.look();
    await app.look('inbox');
    app.clock.advance(HOUR);
  }
}
