import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts';
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
    let answer: (() => void) | undefined;
    app.instead = (url, res, req) => {
      if (answer || url.pathname !== '/hooks' || req.method !== 'GET') return false;
      answer = () => app.send(res, 200, { hooks: [] });
      return true;
    };
    const registering = app.look('jobs');
    await expect.poll(() => answer !== undefined).toBe(true);
    app.clock.advance(1);
    await takePlace(app, connectionId);
    answer?.();
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
    const connectionId = await app.connect('naming');
    await app.subscribe(connectionId);
    await app.look();
    await app.look('jobs');
    app.instead = (url, res) => {
      if (!url.pathname.startsWith('/orders/')) return false;
      app.send(res, 503, {});
      return true;
    };
    expect(await app.announce('made', { id: '250' })).toBe(200);
    await app.look('inbox');
    app.instead = () => false;
    await takePlace(app, connectionId);
    // The other one has an order of that number, too, and it is old.
    app.orders = [app.order('250', app.clock.now() - 700 * DAY)];
    await settle(app);
    expect(await app.told(connectionId)).toEqual([]);
  },
);

test('a webhook whose record is being read when another account takes the place tells nothing', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('naming');
  await app.subscribe(connectionId);
  await app.look();
  await app.look('jobs');
  let answer: (() => void) | undefined;
  app.instead = (url, res) => {
    if (answer || !url.pathname.startsWith('/orders/')) return false;
    answer = () => app.send(res, 200, app.order('250'));
    return true;
  };
  await app.announce('made', { id: '250' });
  const reading = app.look('inbox');
  await expect.poll(() => answer !== undefined).toBe(true);
  await takePlace(app, connectionId);
  answer?.();
  await reading;
  await settle(app);
  expect(await app.told(connectionId)).toEqual([]);
});

test.each(STORE_KINDS)(
  'what a webhook of the account before said may be said by one of the other, on %s',
  async (kind) => {
    await using app = await openApp(kind);
    const connectionId = await app.connect('numbered');
    await app.subscribe(connectionId);
    await app.look();
    await app.look('jobs');
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
  const connectionId = await app.connect('naming');
  await app.subscribe(connectionId);
  await app.look();
  await app.look('jobs');
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
  app.clock.advance(DAY);
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
