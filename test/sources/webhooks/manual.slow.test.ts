import { createHmac } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { claimSources } from '../../../src/sources/due-sources.ts';
import { pollSource } from '../../../src/sources/polling/poll.ts';
import { DAY, HOUR, MINUTE } from '../../../src/lib/clock.ts';
import { runCli } from '../../support/cli.ts';
import { manualClock } from '../../support/clock.ts';
import { startService, type Service } from '../../support/service.ts';
import { STORE_KINDS, type StoreKind } from '../../support/stores.ts';
import { json, startUpstream, type Upstream } from '../../support/upstream.ts';
import { PATIENCE_MS } from '../../support/until.ts';

/* Webhooks that a person sets up at an app for one connection. */

const fileOf = (id: string, secret: 'made' | 'given'): string => `id: ${id}
name: ${id}
description: An app of the tests.
categories: [commerce]
website: https://${id}.example.com
sources: [{title: The tests themselves, read: 2026-11-24}]
baseUrl: '{origin}'
variables: {origin: {title: Address, format: origin}}
authentication: [{type: bearer}]
probe: get_me
account: {id: id}
actions:
  get_me: {description: The account., request: GET /me}
  list_orders: {description: Orders., request: GET /orders, paging: {style: none}}
  get_order: {description: An order., request: 'GET /orders/{orderId}', path: {orderId: {type: string}}}
unified:
  commerce/orders: {list: list_orders, get: {action: get_order, param: orderId}, remoteId: id, map: '{}'}
events:
  call.made: {title: Call made, description: A call was made., list: list_orders, remoteId: id}
webhooks:
  verify: {type: hmac, header: X-Signature}
  challenge: {value: body:word, as: json, member: word, signed: {member: proof}}
  topic: body:what
  record: record
  topics:
    commerce/orders: [{topic: order.made, event: created}]
    call.made: [{topic: call.made, event: created}]
  manual: {secret: ${secret}, help: Open the settings.}
`;

let folder: string;
let upstream: Upstream;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-manual-'));
  for (const [id, secret] of [
    ['desk', 'made'],
    ['bell', 'given'],
  ] as const) {
    mkdirSync(join(folder, id));
    writeFileSync(join(folder, id, 'connector.yaml'), fileOf(id, secret));
  }
  const plain = fileOf('plain', 'made').replace(/^webhooks:\n[\s\S]*/m, '');
  mkdirSync(join(folder, 'plain'));
  writeFileSync(join(folder, 'plain', 'connector.yaml'), plain);
  upstream = await startUpstream();
  // The second token is of another account.
  upstream.handler = (req, res) =>
    json(
      res,
      200,
      req.url === '/me' ? { id: req.headers.authorization === 'Bearer second' ? 'a2' : 'a1' } : [],
    );
});
afterAll(async () => {
  await upstream[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function open(kind: StoreKind, connectorId = 'desk') {
  const clock = manualClock(Date.now());
  const service = await startService({
    kind,
    clock,
    catalogFolder: folder,
    env: { GATEHOUSE_SANDBOX: '0' },
  });
  await service.context.sources.close();
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const call = (method: string, path: string, body?: object) =>
    service.call(method, path, { headers: { 'x-svc-userid': userId }, ...(body ? { body } : {}) });
  const connected = await call('POST', `/users/${userId}/credentials`, {
    connectorId,
    data: { token: 'first', origin: upstream.origin },
  });
  const connectionId = connected.text('credentialId');
  const path = `/users/${userId}/credentials/${connectionId}`;
  return {
    service,
    clock,
    connectionId,
    hook: (method: string, body?: object) => call(method, `${path}/webhook`, body),
    credential: (method: string, body?: object) => call(method, path, body),
    subscribe: async (scope: string) => {
      const made = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
        body: { address: 'https://127.0.0.1:9/never', scope },
      });
      return made.text('subscriptionId');
    },
    shownSource: async (id: string) => (await service.call('GET', `/webhooks/${id}`)).at('source'),
    sources: () =>
      service.context.db
        .selectFrom('sources')
        .select(['scope', 'kind', 'hook_state', 'next_poll_at'])
        .where('credential_id', '=', connectionId)
        .orderBy('scope')
        .execute(),
    published: async () => {
      const rows = await service.context.db.selectFrom('events').select(['event', 'body']).execute();
      return rows.map(({ event, body }) => `${event} ${JSON.parse(body).remoteId}`);
    },
    [Symbol.asyncDispose]: () => service.stop(),
  };
}

/** Posts a webhook as the app does. Returns the status of our answer. */
async function send(service: Service, url: string, secret: string, event: object): Promise<number> {
  return (await post(service, url, secret, event)).status;
}

function post(service: Service, url: string, secret: string, event: object): Promise<Response> {
  const body = JSON.stringify(event);
  return fetch(`${service.url}${new URL(url).pathname}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-signature': createHmac('sha256', secret).update(body).digest('hex'),
    },
    body,
  });
}

const order = (id: string) => ({ what: 'order.made', record: { id } });

async function pollDue(service: Service): Promise<void> {
  for (const source of await claimSources(service.context, 100)) await pollSource(service.context, source);
}

test.each(STORE_KINDS)('one address serves all sources of a connection, on %s', async (kind) => {
  await using app = await open(kind);
  const { service } = app;
  const orders = await app.subscribe('commerce/orders');
  const calls = await app.subscribe('desk/call.made');
  expect((await app.hook('GET')).body).toEqual({
    credentialId: app.connectionId,
    state: 'none',
    lastAt: null,
    help: 'Open the settings.',
    secretFrom: 'gatehouse',
  });
  const made = await app.hook('POST');
  expect([made.status, made.at('state')]).toEqual([201, 'waiting']);
  const [url, secret] = [made.text('url'), made.text('secret')];
  expect((await app.hook('GET')).body).not.toHaveProperty('secret');
  await pollDue(service);
  expect(await app.shownSource(orders)).toBe('polling');

  expect(await send(service, url, 'guessed', order('o1'))).toBe(401);
  expect((await app.hook('GET')).at('state')).toBe('waiting');
  expect(await send(service, url, secret, order('o1'))).toBe(200);
  expect(await send(service, url, secret, order('o1'))).toBe(200);
  expect(await app.published()).toEqual(['created o1']);
  expect([await app.shownSource(orders), await app.shownSource(calls)]).toEqual(['native', 'polling']);
  const shown = await app.hook('GET');
  expect([shown.at('state'), shown.at('lastAt'), shown.at('url')]).toEqual([
    'registered',
    new Date(app.clock.now()).toISOString(),
    url,
  ]);

  expect(await send(service, url, secret, { what: 'call.made', record: { id: 'c1' } })).toBe(200);
  expect(await app.published()).toEqual(['created o1', 'created c1']);
  expect(await app.shownSource(calls)).toBe('native');
  // A poll closes the gap before the first webhook, and further ones are an hour apart.
  app.clock.advance(MINUTE);
  await pollDue(service);
  for (const { next_poll_at: at } of await app.sources()) {
    expect(at - app.clock.now()).toBeGreaterThan(0.8 * HOUR);
    expect(at - app.clock.now()).toBeLessThan(1.2 * HOUR);
  }
  await service.call('DELETE', `/webhooks/${calls}`);
  expect(await app.sources()).toHaveLength(1);
});

test.each(STORE_KINDS)('a replaced secret stays valid for a day, on %s', async (kind) => {
  await using app = await open(kind);
  const { service } = app;
  const answers = await Promise.all([app.hook('POST'), app.hook('POST')]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 201]);
  const [url, other] = answers.map((answer) => answer.text('url'));
  expect(other).toBe(url);
  const before = (await app.hook('POST')).text('secret');
  const after = (await app.hook('POST')).text('secret');
  expect(await send(service, url ?? '', before, order('o1'))).toBe(200);
  expect(await send(service, url ?? '', after, order('o1'))).toBe(200);
  app.clock.advance(DAY + MINUTE);
  expect(await send(service, url ?? '', before, order('o1'))).toBe(401);
  expect(await send(service, url ?? '', after, order('o1'))).toBe(200);
});

test.each(STORE_KINDS)('an address ends by deletion or another account, on %s', async (kind) => {
  await using app = await open(kind);
  const { service } = app;
  await app.subscribe('commerce/orders');
  const begin = async () => {
    const made = await app.hook('POST');
    expect(await send(service, made.text('url'), made.text('secret'), order('o1'))).toBe(200);
    expect(await app.sources()).toMatchObject([{ kind: 'native', hook_state: 'manual' }]);
    return () => send(service, made.text('url'), made.text('secret'), order('o2'));
  };
  const first = await begin();
  expect((await app.hook('DELETE')).status).toBe(200);
  expect(await first()).toBe(404);
  expect(await app.sources()).toMatchObject([{ kind: 'polling', hook_state: 'none' }]);

  const second = await begin();
  expect((await app.credential('PUT', { data: { token: 'second' } })).status).toBe(200);
  expect(await second()).toBe(404);
  expect((await app.hook('GET')).at('state')).toBe('none');
  expect(await app.sources()).toMatchObject([{ kind: 'polling', hook_state: 'none' }]);

  const made = await app.hook('POST');
  expect((await app.credential('DELETE')).status).toBe(200);
  expect(await send(service, made.text('url'), made.text('secret'), order('o3'))).toBe(404);
  expect(await service.context.db.selectFrom('manual_hooks').selectAll().execute()).toEqual([]);
});

test('a secret of the app is required, and signs the answer to its challenge', async () => {
  await using app = await open('sqlite', 'bell');
  const missing = await app.hook('POST', {});
  expect([missing.status, JSON.stringify(missing.body)]).toEqual([
    400,
    expect.stringContaining('is required: bell shows it'),
  ]);
  const blank = await app.hook('POST', { secret: '  ' });
  expect([blank.status, blank.at('details.faults.0')]).toEqual([
    400,
    { field: 'secret', rule: 'must not be blank' },
  ]);
  const made = await app.hook('POST', { secret: 'of the app' });
  expect([made.status, made.at('secret'), made.at('secretFrom')]).toEqual([201, undefined, 'app']);
  const asked = await post(app.service, made.text('url'), 'no signature', { word: 'w1' });
  const proof = createHmac('sha256', 'of the app').update('w1').digest('hex');
  expect([asked.status, await asked.json()]).toEqual([200, { word: 'w1', proof }]);
  // No subscription exists yet.
  expect(await send(app.service, made.text('url'), 'of the app', order('o1'))).toBe(200);
  expect((await app.hook('GET')).at('state')).toBe('registered');
});

test('a secret of the app is refused where Gatehouse makes it', async () => {
  await using app = await open('sqlite');
  const refused = await app.hook('POST', { secret: 'mine' });
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    400,
    expect.stringContaining('is made by Gatehouse'),
  ]);
});

test('an app without webhooks by hand refuses an address', async () => {
  await using app = await open('sqlite', 'plain');
  const refused = await app.hook('POST');
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    400,
    expect.stringContaining('is of plain, whose webhooks are not set up by hand'),
  ]);
});

test(
  'doctor names a connection whose webhooks never came',
  async () => {
    await using app = await open('sqlite');
    await app.hook('POST');
    const { out } = await runCli(['doctor', '--json'], app.service.env);
    const { findings }: { findings: { name: string }[] } = JSON.parse(out);
    expect(findings.find(({ name }) => name === 'webhooks by hand')).toMatchObject({
      state: 'warn',
      found: `no webhook has come for desk ${app.connectionId}`,
    });
  },
  PATIENCE_MS,
);
