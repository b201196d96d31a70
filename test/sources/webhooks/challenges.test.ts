import { createHmac } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { CATALOG_FOLDER } from '../../../src/package.ts';
import { separate } from '../../support/events.ts';
import { until } from '../../support/until.ts';
import { startService, type Answer, type CallOptions, type Service } from '../../support/service.ts';
import { json, startUpstream, type Upstream } from '../../support/upstream.ts';

/* Challenges that apps send to an address before the first webhook, and the answers. */

/** Challenges of the connectors in these tests, by connector id. */
const CHALLENGES = {
  posting: "{value: 'body:check.word'}",
  'posting-json': '{value: body:challenge, as: json}',
  'posting-header': '{value: header:X-Check, as: json, member: validation}',
  getting: "{method: GET, value: 'query:hub.challenge'}",
  'getting-json': '{method: GET, value: query:crc, as: json, member: response}',
  'posting-signed': '{value: body:payload.plain, as: json, member: plain, signed: {member: encrypted}}',
  'getting-signed':
    '{method: GET, value: query:crc_token, as: signed, signed: {member: response_token, encoding: base64, prefix: sha256=}}',
};
type Asking = keyof typeof CHALLENGES;

function connectorFile(id: Asking): string {
  return `id: ${id}
name: ${id}
description: An app of the tests.
categories: [commerce]
website: https://example.com
sources: [{title: The tests themselves, read: 2026-11-24}]
baseUrl: '{origin}'
variables: {origin: {title: Address, format: origin}}
authentication: [{type: bearer}]
actions:
  list_orders: {description: Orders., request: GET /orders, paging: {style: none}}
  get_order: {description: An order., request: 'GET /orders/{orderId}', path: {orderId: {type: string}}}
  add_hook:
    internal: true
    description: A webhook.
    request: POST /webhooks
    body: {delivery_url: {type: string}, topic: {type: string}, secret: {type: string}}
  drop_hook: {internal: true, description: Ends one., request: 'DELETE /webhooks/{hookId}', path: {hookId: {type: string}}}
unified:
  commerce/orders: {list: list_orders, get: {action: get_order, param: orderId}, remoteId: id, map: '{}'}
webhooks:
  verify: {type: header, header: X-Secret}
  challenge: ${CHALLENGES[id]}
  topic: body:what
  record: order
  topics: {commerce/orders: [{topic: made, event: created}]}
  register:
    create: {action: add_hook, input: {delivery_url: '{address}', topic: '{topic}', secret: '{secret}'}, id: id}
    delete: {action: drop_hook, param: hookId}
`;
}

interface Hook {
  delivery_url: string;
  topic: string;
  secret: string;
}

let folder: string;
let upstream: Upstream;
let service: Service;
let userId: string;
let hooks: Hook[] = [];
const nothing = async (_path: string, _id: number): Promise<void> => {};
/** Runs before the app answers a registration. */
let onRegister = nothing;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-challenges-'));
  cpSync(join(CATALOG_FOLDER, 'woocommerce'), join(folder, 'woocommerce'), { recursive: true });
  for (const id of Object.keys(CHALLENGES) as Asking[]) {
    mkdirSync(join(folder, id));
    writeFileSync(join(folder, id, 'connector.yaml'), connectorFile(id));
  }
  upstream = await startUpstream();
  upstream.handler = (req, res, count) => {
    let text = '';
    req.on('data', (chunk) => (text += String(chunk)));
    req.on('end', () => {
      if (req.method !== 'POST') return json(res, 200, []);
      const hook: Hook = JSON.parse(text);
      hooks.push(hook);
      void onRegister(pathOf(hook), count).then(() => json(res, 201, { id: count }));
    });
  };
  service = await startService({ catalogFolder: folder, env: { GATEHOUSE_SANDBOX: '0' } });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
});
afterAll(async () => {
  await service.stop();
  await upstream[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

afterEach(async () => {
  onRegister = nothing;
  hooks = [];
  await service.context.db.deleteFrom('inbox').execute();
});

const pathOf = ({ delivery_url: url }: Hook): string => new URL(url).pathname;

/** Subscribes to a new connection of the app. Returns its registration there. */
async function listen(
  connectorId: string,
  data: object,
): Promise<{ path: string; secret: string; end: () => Promise<Answer> }> {
  const connected = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId, data },
  });
  const connectionId = await separate(service, connected.text('credentialId'));
  const subscribed = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: { address: 'https://127.0.0.1:9/never', scope: 'commerce/orders' },
  });
  await until(async () => {
    const source = await service.context.db
      .selectFrom('sources')
      .select('hook_state')
      .where('credential_id', '=', connectionId)
      .executeTakeFirst();
    return source?.hook_state === 'registered';
  });
  const hook = hooks.at(-1);
  if (!hook) throw new Error('nothing is registered');
  const end = () => service.call('DELETE', `/webhooks/${subscribed.text('subscriptionId')}`);
  return { path: pathOf(hook), secret: hook.secret, end };
}

const listenTo = (id: Asking) => listen(id, { token: 'x', origin: upstream.origin });

/** Sends a request as an app does, without a key of ours. */
const send = (method: string, path: string, sent: CallOptions = {}) =>
  service.call(method, path, { bearer: null, ...sent });

const stored = async () =>
  (await service.context.db.selectFrom('inbox').select('topic').execute()).map(({ topic }) => topic);

const WORD = 'w<1>"ö';
const QUERY = encodeURIComponent(WORD);

interface Asked {
  method?: string;
  query?: string;
  sent?: CallOptions;
}

const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json';

test.each<[where: string, Asking, Asked, contentType: string, unknown]>([
  ['body', 'posting', { sent: { body: { check: { word: WORD } } } }, TEXT, WORD],
  ['body, as a number', 'posting', { sent: { body: { check: { word: 7 } } } }, TEXT, '7'],
  ['body, for JSON', 'posting-json', { sent: { body: { challenge: WORD } } }, JSON_TYPE, { challenge: WORD }],
  ['header', 'posting-header', { sent: { headers: { 'x-check': 'w1' } } }, JSON_TYPE, { validation: 'w1' }],
  ['query', 'getting', { method: 'GET', query: `?hub.challenge=${QUERY}` }, TEXT, WORD],
  [
    'query, for JSON',
    'getting-json',
    { method: 'GET', query: `?crc=${QUERY}` },
    JSON_TYPE,
    { response: WORD },
  ],
])(
  'a challenge is answered, and nothing is stored for it (in the %s)',
  async (_where, id, { method = 'POST', query = '', sent }, contentType, body) => {
    const { path } = await listenTo(id);
    const answer = await send(method, path + query, sent);
    expect([answer.status, answer.headers.get('content-type'), answer.body]).toEqual([
      200,
      contentType,
      body,
    ]);
    // The header keeps browsers from showing the answer as a page.
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(await stored()).toEqual([]);
  },
);

test('a challenge is answered with an HMAC, alone or next to its value', async () => {
  const posting = await listenTo('posting-signed');
  const value = 'qgg8vlvZRS6UYooatFL8Aw';
  const hmac = (secret: string) => createHmac('sha256', secret).update(value);
  const posted = await send('POST', posting.path, { body: { payload: { plain: value } } });
  expect(posted.body).toEqual({ plain: value, encrypted: hmac(posting.secret).digest('hex') });
  const getting = await listenTo('getting-signed');
  const asked = await send('GET', `${getting.path}?crc_token=${value}`);
  expect(asked.body).toEqual({ response_token: `sha256=${hmac(getting.secret).digest('base64')}` });
  expect(await stored()).toEqual([]);
});

test('a challenge that could be the content of a webhook is not signed', async () => {
  const { path } = await listenTo('posting-signed');
  for (const plain of ['v0:1763629200:{"what":"made"}', '{}', 'a b', 'x'.repeat(301)]) {
    const answer = await send('POST', path, { body: { payload: { plain } } });
    expect([answer.status, answer.text('code')]).toEqual([400, 'invalid_request']);
  }
});

test('a long challenge is answered with its first thousand characters', async () => {
  const posting = await listenTo('posting-json');
  const getting = await listenTo('getting');
  const word = 'x'.repeat(2000);
  const posted = await send('POST', posting.path, { body: { challenge: word } });
  const asked = await send('GET', `${getting.path}?hub.challenge=${word}`);
  expect([posted.text('challenge'), asked.body]).toEqual([word.slice(0, 1000), word.slice(0, 1000)]);
});

test('an unsigned ping of WooCommerce is answered 200, and nothing is stored for it', async () => {
  const ping = (path: string, id: number) =>
    send('POST', path, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      rawBody: `webhook_id=${id}`,
    });
  const pings: Answer[] = [];
  // The shop pings before it answers the registration.
  onRegister = async (path, id) => void pings.push(await ping(path, id));
  const data = {
    siteUrl: upstream.origin,
    username: `ck_${'0'.repeat(40)}`,
    password: `cs_${'0'.repeat(40)}`,
  };
  const { path, secret } = await listen('woocommerce', data);
  expect(pings.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(hooks.map(({ topic }) => topic)).toEqual([
    'order.created',
    'order.updated',
    'order.restored',
    'order.deleted',
  ]);
  expect(await stored()).toEqual([]);

  const order = '{"id":5,"number":"5"}';
  const signature = createHmac('sha256', secret).update(order).digest('base64');
  const published = (headers: Record<string, string>) =>
    send('POST', path, { headers: { 'x-wc-webhook-topic': 'order.deleted', ...headers }, rawBody: order });
  expect((await published({})).status).toBe(401);
  expect((await published({ 'x-wc-webhook-signature': signature })).status).toBe(200);
  expect(await stored()).toEqual(['order.deleted']);
});

test('an unknown or former address answers no challenge', async () => {
  const getting = await listenTo('getting');
  const posting = await listenTo('posting');
  await posting.end();
  const asked = [getting, posting].flatMap(({ path, secret }) => {
    const token = path.split('/').at(-1);
    return ['getting/unknown', 'posting/unknown', `unknown/${token}`, `getting-json/${token}`].map(
      (place) => ({ path: `/hooks/${place}`, secret }),
    );
  });
  for (const { path, secret } of [...asked, posting]) {
    const event = await send('POST', path, {
      headers: { 'x-secret': secret },
      body: { what: 'made', order: { id: 'o1' } },
    });
    const said = { code: 'not_found', error: event.text('error') };
    expect([event.status, event.body]).toMatchObject([404, said]);
    for (const challenge of [
      await send('GET', `${path}?hub.challenge=w1&crc=w1`),
      await send('POST', path, { body: { check: { word: 'w1' }, challenge: 'w1' } }),
    ])
      expect([challenge.status, challenge.body]).toEqual([404, { ...said, requestId: expect.any(String) }]);
  }
  expect(await stored()).toEqual([]);
});

test('a request without a challenge, or with the other method, is a webhook', async () => {
  const getting = await listenTo('getting');
  const posting = await listenTo('posting');
  const event = { what: 'made', order: { id: 'o1' }, check: { word: '' } };
  const unsigned = [
    await send('GET', getting.path),
    await send('GET', `${getting.path}?hub.challenge=`),
    await send('POST', `${getting.path}?hub.challenge=w1`, { body: event }),
    await send('GET', `${posting.path}?check.word=w1`),
    await send('POST', posting.path, { body: event }),
  ];
  expect(unsigned.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
  expect(await stored()).toEqual([]);
  for (const { path, secret } of [getting, posting]) {
    const query = path === getting.path ? '?hub.challenge=w1' : '';
    const answer = await send('POST', path + query, { headers: { 'x-secret': secret }, body: event });
    expect([answer.status, answer.body]).toEqual([200, { received: true }]);
  }
  expect(await stored()).toEqual(['made', 'made']);
});
