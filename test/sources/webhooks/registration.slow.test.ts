import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createSources } from '../../../src/sources/loops.ts';
import { releaseSource } from '../../../src/sources/source-records.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { manualClock } from '../../support/clock.ts';
import { separate } from '../../support/events.ts';
import { until } from '../../support/until.ts';
import { startService } from '../../support/service.ts';
import { json, startUpstream } from '../../support/upstream.ts';
import { openApp } from '../app.ts';

/* Registrations at apps over days: outages, rejections, changed addresses. */

const STALL = `id: stall
name: Stall
description: An app of the tests.
categories: [commerce]
website: https://stall.example.com
sources: [{title: The tests themselves, read: 2026-11-21}]
baseUrl: '{origin}'
variables: {origin: {title: Address, format: origin}}
authentication: [{type: bearer}]
actions:
  list_orders: {description: Orders., request: GET /orders, paging: {style: none}, response: {data: orders}}
  get_order: {description: An order., request: 'GET /orders/{orderId}', path: {orderId: {type: string}}}
  list_hooks: {internal: true, description: Hooks., request: GET /hooks, paging: {style: none}, response: {data: hooks}}
  add_hook: {internal: true, description: A hook., request: POST /hooks, body: {url: {type: string}, topic: {type: string}}}
  drop_hook: {internal: true, description: Ends a hook., request: 'DELETE /hooks/{hookId}', path: {hookId: {type: string}}}
unified:
  commerce/orders:
    list: list_orders
    get: {action: get_order, param: orderId}
    remoteId: id
    map: '{}'
webhooks:
  verify: {type: header, header: X-Token, value: '{token}'}
  topic: body:what
  record: order
  topics:
    commerce/orders: [{topic: made, event: created}, {topic: gone, event: deleted}]
  register:
    list: {action: list_hooks, id: id, address: url, topic: topic}
    create: {action: add_hook, input: {url: '{address}', topic: '{topic}'}, id: id}
    delete: {action: drop_hook, param: hookId}
`;

const NOWHERE = 'https://127.0.0.1:9/never';

interface App {
  hooks: Hook[];
  made: number;
  removals: number;
  /** Status by method for calls about hooks; undefined performs the call. */
  answers: { [method: string]: number };
  /** True when it has one hook for each topic, whose id is the topic. */
  hasOneEach: boolean;
  /** True when it never answers calls for orders. */
  isSilent: boolean;
}

interface Hook {
  id: string;
  url: string;
  topic: string;
}

test.each([
  ['is down', 503],
  ['wants the account to be reconnected', 401],
  ['refuses the check', 403],
])('an app that %s for a day keeps its registrations', async (_name, status) => {
  await using stall = await openStall();
  const { app } = stall;
  await stall.subscribe();
  app.answers = { GET: status };
  await stall.pass(DAY);
  for (let hour = 0; hour < 8; hour++) await stall.pass(HOUR);
  expect(await stall.source()).toMatchObject({ kind: 'native', hook_state: 'registered' });
  expect(await stall.send(app.hooks[0])).toBe(200);
  expect(stall.logged()).toContain('webhook registrations not checked, will retry');

  app.answers = {};
  app.hooks = app.hooks.filter(({ topic }) => topic === 'made');
  await stall.pass(HOUR);
  expect(app.hooks.map(({ topic }) => topic)).toEqual(['made', 'gone']);
});

test('an app that rejects registrations is polled, and asked again daily', async () => {
  await using stall = await openStall();
  const { app } = stall;
  app.answers = { POST: 403 };
  await stall.subscribe();
  expect(await stall.source()).toMatchObject({ kind: 'polling', hook_state: 'failed' });
  await stall.pass(DAY);
  expect(await stall.source()).toMatchObject({ kind: 'polling', hook_state: 'failed' });

  app.answers = {};
  await stall.pass(DAY);
  expect(await stall.source()).toMatchObject({ kind: 'native', hook_state: 'registered' });
  expect(await stall.send(app.hooks[0])).toBe(200);
});

test('an app that was down during the subscription is asked again daily', async () => {
  await using stall = await openStall();
  stall.app.answers = { GET: 503 };
  await stall.subscribe();
  for (let hour = 0; hour < 6; hour++) await stall.pass(HOUR);
  expect(await stall.source()).toMatchObject({ kind: 'polling', hook_state: 'failed' });

  stall.app.answers = {};
  await stall.pass(DAY);
  expect(await stall.source()).toMatchObject({ kind: 'native', hook_state: 'registered' });
});

test('a source whose lost registrations are rejected is polled, and none is left', async () => {
  await using stall = await openStall();
  const { app } = stall;
  await stall.subscribe();
  app.hooks = app.hooks.filter(({ topic }) => topic === 'made');
  app.answers = { POST: 503 };
  await stall.pass(DAY);
  for (let hour = 0; hour < 6; hour++) await stall.pass(HOUR);
  expect(await stall.source()).toMatchObject({ kind: 'native', hook_state: 'registered' });
  app.answers = { POST: 403 };
  await stall.pass(HOUR);
  expect(await stall.source()).toMatchObject({ kind: 'polling', hook_state: 'failed' });
  expect(app.hooks).toEqual([]);
});

test('registrations at an earlier public address are removed', async () => {
  await using stall = await openStall();
  const { app, context } = stall;
  await stall.subscribe();
  context.publicUrl = 'https://moved.example.com';
  await stall.pass(DAY);
  expect(app.hooks.map(({ id }) => id)).toEqual(['hook_3', 'hook_4']);
  for (const { url } of app.hooks) expect(url).toContain('https://moved.example.com/hooks/stall/');
});

test.each([
  ['does not know any more', 404, 0],
  ['does not remove', 403, 2],
])('an old registration that the app %s does not prevent a new one', async (_name, status, warnings) => {
  await using stall = await openStall();
  const { app, context } = stall;
  await stall.subscribe();
  context.publicUrl = 'https://moved.example.com';
  app.answers = { DELETE: status };
  await stall.pass(DAY);
  expect(app.hooks.filter(({ url }) => url.startsWith(context.publicUrl))).toHaveLength(2);
  expect(await stall.source()).toMatchObject({ kind: 'native', hook_state: 'registered' });
  const warned = stall.logged().filter((said) => said === 'webhook removal failed');
  expect([app.removals, warned.length]).toEqual([2, warnings]);
});

test('changes while an app had dropped its webhooks are published after registering', async () => {
  await using app = await openApp();
  const connectionId = await app.listen('numbered');
  await app.look();
  app.clock.advance(27 * HOUR);
  await app.look();
  app.dropHooks();
  app.orders = [app.order('o1', app.clock.now() + SECOND)];
  app.clock.advance(MINUTE);
  await app.look('jobs');
  expect(app.hooks).toHaveLength(3);
  await app.look();
  expect(await app.published(connectionId)).toEqual(['created o1']);
  // A check that finds all registrations causes no further poll.
  app.clearCalls();
  app.clock.advance(12 * HOUR);
  await app.look('jobs');
  await app.look();
  expect(app.calls).not.toContain('GET /orders');
});

test.each([
  ['to list webhooks', 'GET'],
  ['to create one, which it does', 'POST'],
  ['to remove one', 'DELETE'],
])('a stop does not wait for a silent app asked %s, and the next start continues', async (_name, method) => {
  await using app = await openApp();
  const { context } = app.service;
  const connectionId = await app.connect('numbered');
  const subscriptionId = await app.subscribe(connectionId);
  if (method === 'DELETE') {
    await app.look('jobs');
    await app.service.call('DELETE', `/webhooks/${subscriptionId}`);
  }
  let isAsked = false;
  app.instead = (url, res, req) => {
    if (isAsked || !url.pathname.startsWith('/hooks') || req.method !== method) return false;
    isAsked = true;
    // The app performs the call, but its answer never arrives.
    Object.assign(res, { end: () => res });
    return method !== 'POST';
  };
  const sources = createSources();
  sources.start(context);
  await until(() => isAsked);
  const closed = sources.close().then(() => 'closed');
  expect(await Promise.race([closed, sleep(20_000, 'waiting', { ref: false })])).toBe('closed');
  app.recover();
  await app.look('jobs');
  const topics = method === 'DELETE' ? [] : ['made', 'changed', 'gone'];
  expect(app.hooks.map(({ topic }) => topic)).toEqual(topics);
});

test('a new consumer during the removal of webhooks gets new registrations', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('listless');
  const subscriptionId = await app.subscribe(connectionId);
  await app.look('jobs');
  expect(app.hooks).toHaveLength(3);
  let asked = 0;
  let answer: (() => void) | undefined;
  app.instead = (_url, res, req) => {
    if (req.method !== 'DELETE' || ++asked !== 3) return false;
    answer = () => app.send(res, 404, {});
    app.dropHooks();
    return true;
  };
  await app.service.call('DELETE', `/webhooks/${subscriptionId}`);
  const removing = app.look('jobs');
  await until(() => answer !== undefined);
  await app.subscribe(connectionId);
  answer?.();
  await removing;
  app.clock.advance(MINUTE);
  await app.look('jobs');
  expect(await app.source(connectionId)).toMatchObject({ hook_state: 'registered' });
  expect(app.hooks.map(({ topic }) => topic)).toEqual(['made', 'changed', 'gone']);
});

test('a topic that a newer connector file adds is registered in a shared webhook', async () => {
  const together = STALL.replace('topic: {type: string}', 'topics: {type: array, items: {type: string}}')
    .replace('topic: topic}\n', 'alive: {}}\n')
    .replace(
      "input: {url: '{address}', topic: '{topic}'}",
      "each: all, input: {url: '{address}', topics: '{topics}'}",
    );
  await using stall = await openStall(together);
  const { app } = stall;
  await stall.subscribe();
  expect(app.hooks).toMatchObject([{ id: 'hook_1', topics: ['made', 'gone'] }]);
  await stall.pass(DAY);
  expect(app.hooks).toMatchObject([{ id: 'hook_1' }]);
  await stall.restart(together.replace('{topic: gone,', '{topic: changed, event: updated}, {topic: gone,'));
  await stall.pass(DAY);
  expect(app.hooks).toMatchObject([{ id: 'hook_2', topics: ['made', 'changed', 'gone'] }]);
  await stall.pass(DAY);
  expect(app.hooks).toMatchObject([{ id: 'hook_2' }]);
});

test('a webhook that its owner moved elsewhere is left unchanged', async () => {
  await using stall = await openStall();
  const { app } = stall;
  app.hasOneEach = true;
  const subscriptionId = await stall.subscribe();
  const theirs = { id: 'made', url: 'https://functions.example.com/made', topic: 'made' };
  const moveMade = () => (app.hooks = [theirs, ...app.hooks.filter(({ topic }) => topic !== 'made')]);
  moveMade();
  await stall.pass(DAY);
  expect(app.hooks).toEqual([theirs]);
  expect(await stall.source()).toMatchObject({ kind: 'polling', hook_state: 'failed' });

  app.hooks = [];
  await stall.pass(DAY);
  expect(await stall.source()).toMatchObject({ kind: 'native', hook_state: 'registered' });
  moveMade();
  await stall.unsubscribe(subscriptionId);
  await until(() => app.hooks.length === 1);
  expect(app.hooks).toEqual([theirs]);
});

test('webhooks beyond the listing limit are not registered again, and are removed', async () => {
  await using stall = await openStall();
  const { app } = stall;
  const others = Array.from({ length: 500 }, (_, n) => ({ id: `o${n}`, url: NOWHERE, topic: 'made' }));
  app.hooks = others;
  const subscriptionId = await stall.subscribe();
  for (let day = 0; day < 2; day++) await stall.pass(DAY);
  expect(app.made).toBe(2);
  await stall.unsubscribe(subscriptionId);
  await until(() => app.hooks.length === 500);
});

test('listings of an app that does not answer delay no registration and no removal', async () => {
  await using stall = await openStall();
  const { app, context } = stall;
  const slow = await stall.connect();
  await stall.subscribe({ connectionId: slow });
  await until(async () => {
    const source = await context.db.selectFrom('sources').select('baseline_at').executeTakeFirst();
    return source?.baseline_at !== null;
  });
  app.isSilent = true;
  for (let n = 0; n < 8; n++)
    await stall.subscribe({ connectionId: slow, address: `${NOWHERE}/${n}`, backfill: true });
  await until(async () => {
    const jobs = context.db.selectFrom('jobs').select('job_id').where('kind', '=', 'backfill');
    // One app may have this many in progress.
    return (await jobs.where('lease_until', 'is not', null).execute()).length === 4;
  });

  const subscriptionId = await stall.subscribe({ connectionId: await stall.connect() });
  expect(app.hooks).toHaveLength(4);
  await stall.unsubscribe(subscriptionId);
  await until(() => app.hooks.length === 2);
});

/** Starts an app with hooks, a Gatehouse that is connected to it, and a clock. */
async function openStall(file = STALL) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-stall-'));
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-home-'));
  mkdirSync(join(folder, 'stall'));
  const app: App = { hooks: [], made: 0, removals: 0, answers: {}, hasOneEach: false, isSilent: false };
  const upstream = await startUpstream();
  upstream.handler = (req, res) => {
    const { method = '', url = '' } = req;
    let text = '';
    req.on('data', (chunk) => (text += String(chunk)));
    req.on('end', () => {
      if (url === '/orders' && app.isSilent) return;
      if (url === '/orders') return json(res, 200, { orders: [] });
      if (method === 'DELETE') app.removals += 1;
      const refused = app.answers[method];
      if (refused !== undefined) return json(res, refused, {});
      if (method === 'GET') return json(res, 200, { hooks: app.hooks.map((hook) => ({ ...hook })) });
      if (method === 'POST') {
        const wish: Omit<Hook, 'id'> = JSON.parse(text);
        if (app.hasOneEach && app.hooks.some(({ topic }) => topic === wish.topic)) return json(res, 400, {});
        const hook = { id: app.hasOneEach ? wish.topic : `hook_${++app.made}`, ...wish };
        app.hooks.push(hook);
        return json(res, 201, hook);
      }
      const left = app.hooks.filter(({ id }) => url !== `/hooks/${id}`);
      const status = left.length === app.hooks.length ? 404 : 200;
      app.hooks = left;
      return json(res, status, {});
    });
  };
  const clock = manualClock();
  let service = await start(file);
  const { context } = service;
  function start(connector: string) {
    writeFileSync(join(folder, 'stall', 'connector.yaml'), connector);
    const env = { GATEHOUSE_SANDBOX: '0', GATEHOUSE_HOME: home };
    return startService({ clock, catalogFolder: folder, env });
  }
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  async function connect(): Promise<string> {
    const credential = await service.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId: 'stall', data: { token: 'stall_token', origin: upstream.origin } },
    });
    return separate(service, credential.text('credentialId'));
  }

  /** Waits until no registration is due or running. */
  async function looked(): Promise<void> {
    service.context.sources.wake();
    await until(async () => {
      const job = await service.context.db
        .selectFrom('jobs')
        .select('job_id')
        .where('kind', '=', 'register')
        .where((or) => or.or([or('lease_until', 'is not', null), or('next_at', '<=', clock.now())]))
        .executeTakeFirst();
      return job === undefined;
    });
  }

  return {
    app,
    context,
    connect,
    async subscribe(
      wish: { connectionId?: string; address?: string; backfill?: boolean } = {},
    ): Promise<string> {
      const { connectionId = await connect(), ...more } = wish;
      const made = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
        body: { address: NOWHERE, scope: 'commerce/orders', ...more },
      });
      await looked();
      return made.text('subscriptionId');
    },
    /** Restarts the process over the same store, with another connector file. */
    async restart(connector: string): Promise<void> {
      await service.stop();
      service = await start(connector);
      service.context.publicUrl = context.publicUrl;
    },
    unsubscribe: (subscriptionId: string) => service.call('DELETE', `/webhooks/${subscriptionId}`),
    async pass(ms: number): Promise<void> {
      clock.advance(ms);
      await looked();
    },
    source: () => context.db.selectFrom('sources').select(['kind', 'hook_state']).executeTakeFirstOrThrow(),
    /** Sends a webhook as the app does. Returns the status of our answer. */
    async send(hook: Hook | undefined): Promise<number> {
      const headers = { 'content-type': 'application/json', 'x-token': 'stall_token' };
      const body = JSON.stringify({ what: 'made', order: { id: 'ord_1' } });
      return (await fetch(hook?.url ?? '', { method: 'POST', headers, body })).status;
    },
    logged: () => service.logged.map((line): string => JSON.parse(line).msg),
    async [Symbol.asyncDispose]() {
      await service.stop();
      await upstream[Symbol.asyncDispose]();
      for (const one of [folder, home]) rmSync(one, { recursive: true, force: true });
    },
  };
}

test('webhooks are checked and removed again once their connector file is back', async () => {
  await using app = await openApp();
  const { catalog } = app.service.context;
  const connectionId = await app.listen('numbered');
  const connector = catalog.connector.bind(catalog);
  const whileAway = async (what: () => Promise<unknown>) => {
    catalog.connector = () => undefined;
    await what();
    catalog.connector = connector;
  };
  app.clock.advance(DAY + MINUTE);
  await whileAway(() => app.look('jobs'));
  app.dropHooks();
  app.clock.advance(HOUR + MINUTE);
  await app.look('jobs');
  expect(app.hooks).toHaveLength(3);

  await app.service.context.db
    .deleteFrom('subscriptions')
    .where('credential_id', '=', connectionId)
    .execute();
  const { source_id: sourceId } = await app.source(connectionId);
  await app.service.context.db
    .transaction()
    .execute((tx) => releaseSource(tx, app.service.context, sourceId));
  await whileAway(() => app.look('jobs'));
  app.clock.advance(HOUR);
  await app.look('jobs');
  expect(app.hooks).toEqual([]);
});
