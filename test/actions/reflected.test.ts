import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { connectClient, rpc } from '../support/mcp.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { startShop, type Shop } from '../support/shop.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

/* The app answers with the request that it got. No secret of the request reaches a caller or the store. */

const KEY = 'k9+/=ü_live_4fz0QmVtLr81';
const PASSWORD = 'pass-9fK2 &word%81';
const ACCESS = 'acc_7Hq2vXw0Zk5TnB3';
const SHORT = 'q7Kx';
/** A page of records is larger than this, so it is stored as a result. */
const PADDING = 'p'.repeat(90_000);

const MIRROR = `
id: mirror
name: Mirror
description: An app that answers with what it was sent.
categories: [commerce]
website: https://mirror.example.com
sources: [{ title: The tests themselves, read: 2026-03-01 }]
baseUrl: '{origin}'
variables: { origin: { title: Address, format: origin, example: https://mirror.example.com } }
authentication:
  - { type: api_key, in: header, name: X-Key, prefix: 'Token ' }
  - { type: basic }
  - { type: bearer }
  - { type: custom, fields: { pin: { title: PIN, secret: true } }, apply: { query: { pin: '{pin}' } } }
  - { type: oauth2, authorizeUrl: '{origin}/authorize', tokenUrl: '{origin}/token', scopes: [] }
actions:
  echo: { description: What was sent., request: GET /echo }
  echo_large: { description: What was sent and more., request: GET /large }
  list_orders:
    description: Orders.
    request: GET /orders
    paging: { style: link, next: 'body:next', limitParam: limit, maxLimit: 1 }
    response: { data: orders }
  get_order: { description: An order., request: 'GET /orders/{orderId}', path: { orderId: { type: string } } }
  read_text: { description: A text file., request: GET /text, response: { body: file } }
  read_binary: { description: A binary file., request: GET /binary, response: { body: file } }
  watch: { description: Tells its progress., request: GET /watch, response: { stream: events } }
unified:
  commerce/orders:
    list: list_orders
    get: { action: get_order, param: orderId }
    remoteId: id
    map: '{"note": note}'
`;

let shop: Shop;
let mirror: Upstream;
let receiver: Receiver;
const ids = new Map<string, string>();
/** All texts that callers and receivers got. */
const given: string[] = [];

beforeAll(async () => {
  mirror = await startUpstream();
  mirror.handler = reflect;
  receiver = await startReceiver();
  shop = await startShop({}, { mirror: MIRROR });
  const { origin } = mirror;
  const types = {
    api_key: { apiKey: KEY, origin },
    basic: { username: 'ada', password: PASSWORD, origin },
    bearer: { token: '81234567', origin },
    custom: { pin: SHORT, origin },
    oauth2: { accessToken: ACCESS, origin },
  };
  for (const [type, data] of Object.entries(types)) {
    const made = await shop.call('POST', `/users/${shop.userId}/credentials`, {
      body: { connectorId: 'mirror', type, data },
    });
    ids.set(type, made.text('credentialId'));
  }
});
afterAll(async () => {
  await shop[Symbol.asyncDispose]();
  await mirror[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** Returns the secret of a request in every form in which an app may write it. */
function reflect(...[req, res]: Parameters<Upstream['handler']>): void {
  const sent = [req.headers['x-key'], req.headers.authorization, new URL(req.url ?? '', mirror.origin).search]
    .filter(Boolean)
    .join(' ');
  const basic = /^Basic (.*)$/.exec(req.headers.authorization ?? '')?.[1];
  const clear = basic === undefined ? sent : Buffer.from(basic, 'base64').toString();
  const told = {
    sent,
    clear,
    quoted: JSON.stringify(clear),
    base64: Buffer.from(clear).toString('base64'),
    base64url: Buffer.from(`x ${clear}`).toString('base64url'),
    address: `https://mirror.example.com/?key=${encodeURIComponent(clear)}`,
    number: /(\d{8})$/.test(clear) ? Number(clear.slice(-8)) : 0,
    [`named ${clear}`]: true,
  };
  const json = (body: object) =>
    res
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(body).replaceAll('/', '\\/'));
  const path = new URL(req.url ?? '', mirror.origin).pathname;
  if (path === '/large') json({ ...told, padding: PADDING });
  else if (path === '/orders') {
    const page = Number(new URL(req.url ?? '', mirror.origin).searchParams.get('page') ?? 1);
    const next =
      page < 3 ? `${mirror.origin}/orders?page=${page + 1}&seen=${encodeURIComponent(clear)}` : null;
    json({ orders: [{ id: `o${page}`, note: `by ${clear}`, ...told }], next });
  } else if (path.startsWith('/orders/')) json({ id: path.slice(8), note: `by ${clear}`, ...told });
  else if (path === '/text') res.writeHead(200, { 'content-type': 'text/plain' }).end(`key: ${clear}\n`);
  else if (path === '/binary')
    res
      .writeHead(200, { 'content-type': 'application/pdf' })
      .end(Buffer.concat([Buffer.from([0, 255, 254]), Buffer.from(clear), Buffer.from([0, 1])]));
  else if (path === '/watch') {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(`event: progress\ndata: ${JSON.stringify({ progress: 1, message: `with ${clear}` })}\n\n`);
    res.end(`event: result\ndata: ${JSON.stringify(told)}\n\n`);
  } else json(told);
}

/** Returns the secrets in every form: plain, in base64 at each offset, percent-encoded, and in hex. */
function traces(): string[] {
  const basic = Buffer.from(`ada:${PASSWORD}`).toString('base64');
  return [KEY, PASSWORD, ACCESS, '81234567', basic].flatMap((secret) =>
    [
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
      ...[0, 1, 2].map((before) => {
        const text = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]).toString('base64url');
        return text.slice(4, -4);
      }),
    ].filter((trace) => trace.length >= 8),
  );
}

const run = async (type: string, actionId: string, input: object = {}) => {
  const answer = await shop.call('POST', `/connectors/mirror/actions/${actionId}/execute`, {
    body: { input, credentialId: ids.get(type) },
  });
  expect(answer).toMatchObject({ status: 200 });
  given.push(JSON.stringify(answer.body));
  return answer;
};
const leaks = (texts: string[]) => traces().filter((trace) => texts.some((text) => text.includes(trace)));

test.each(['api_key', 'basic', 'bearer', 'oauth2'])(
  'a reflected secret of %s reaches no caller',
  async (type) => {
    const answer = await run(type, 'echo');
    expect(answer.text('data.clear')).toContain('[secret]');
    expect(answer.text('data.base64')).toContain('[secret]');
    expect(answer.text('data.address')).toMatch(/^https:\/\/mirror\.example\.com\/\?key=.*\[secret\]/);
    expect(leaks(given)).toEqual([]);
  },
);

test('a number that is a secret is removed too', async () => {
  expect((await run('bearer', 'echo')).at('data.number')).toBe('[secret]');
});

test('a secret of four characters is removed only as a word', async () => {
  mirror.handler = (_req, res) =>
    res
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ pin: SHORT, list: `a,${SHORT};b`, word: `x${SHORT}y`, near: `${SHORT}9` }));
  try {
    expect((await run('custom', 'echo')).at('data')).toEqual({
      pin: '[secret]',
      list: 'a,[secret];b',
      word: `x${SHORT}y`,
      near: `${SHORT}9`,
    });
  } finally {
    mirror.handler = reflect;
  }
});

test('a list is paged by links that hold the secret, and its records do not', async () => {
  const page = await run('basic', 'list_orders', { limit: 3 });
  expect(page.at('data')).toMatchObject([{ id: 'o1' }, { id: 'o2' }, { id: 'o3' }]);
  const second = await run('basic', 'list_orders', { limit: 1, offset: 1 });
  expect(second.at('data.0.id')).toBe('o2');
  expect(leaks(given)).toEqual([]);
});

test('a file holds no secret, and a binary one keeps its length', async () => {
  const text = await run('api_key', 'read_text');
  expect(text.at('data.text')).toMatch(/^key: .*\[secret\]/);
  const binary = await run('api_key', 'read_binary');
  const file = await fetch(`${shop.service.url}/files/${binary.text('data.fileId')}?userId=${shop.userId}`, {
    headers: { authorization: `Bearer ${shop.service.developmentKey}`, 'x-api-version': '2025-09' },
  });
  const bytes = Buffer.from(await file.arrayBuffer());
  expect(bytes.length).toBe(binary.at('data.size'));
  expect(bytes.toString('latin1')).toContain('*'.repeat(Buffer.byteLength(KEY)));
  expect(leaks([bytes.toString(), ...given])).toEqual([]);
});

describe('over MCP', () => {
  const serve = async () =>
    (await shop.call('POST', '/api/servers', { body: { name: `Mirror ${given.length}` } })).text('accessUrl');

  test('neither a result nor the stored part of a large one holds a secret', async () => {
    const url = await serve();
    const execute = (actionId: string, type: string) =>
      rpc(url, 'tools/call', {
        name: 'execute_action_svc',
        arguments: { connectorId: 'mirror', actionId, parameters: {}, credentialId: ids.get(type) },
      });
    for (const type of ['api_key', 'basic', 'oauth2']) {
      const small = await execute('echo', type);
      expect(small.at('result.structuredContent.data.clear')).toContain('[secret]');
      const large = await execute('echo_large', type);
      const link = JSON.stringify(large.body).match(/svc:\/\/results\/\w+/)?.[0];
      const whole = await rpc(url, 'resources/read', { uri: link });
      expect(JSON.stringify(whole.body)).toContain('[secret]');
      given.push(...[small, large, whole].map(({ body }) => JSON.stringify(body)));
    }
    expect(leaks(given)).toEqual([]);
  });

  test('progress and result of an answer in events hold no secret', async () => {
    const client = await connectClient(await serve());
    const told: unknown[] = [];
    const answer = await client.callTool(
      {
        name: 'execute_action_svc',
        arguments: {
          connectorId: 'mirror',
          actionId: 'watch',
          parameters: {},
          credentialId: ids.get('oauth2'),
        },
      },
      undefined,
      { onprogress: (progress) => void told.push(progress) },
    );
    await client.close();
    expect(told).toMatchObject([{ message: expect.stringContaining('[secret]') }]);
    given.push(JSON.stringify([told, answer]));
    expect(leaks(given)).toEqual([]);
  });
});

test('unified records and their events hold no secret', async () => {
  const connectionId = ids.get('api_key');
  const listed = await shop.call('GET', `/2023-03/one/commerce/orders?connectionId=${connectionId}`);
  expect(listed.text('data.0.note')).toContain('[secret]');
  const subscribed = await shop.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: { address: receiver.url, scope: 'commerce/orders', backfill: true },
  });
  expect(subscribed).toMatchObject({ status: 201 });
  const events = await receiver.arrived(3);
  given.push(JSON.stringify(listed.body), ...events.map(({ body }) => body));
  expect(leaks(given)).toEqual([]);
});

test('neither the log of a workflow run nor the store holds a secret', async () => {
  const steps = [{ stepId: 'ask', connectorId: 'mirror', actionId: 'echo', input: {} }];
  const made = await shop.call('POST', '/workflows', {
    body: { name: 'Mirrored', definition: { trigger: { type: 'manual' }, steps } },
  });
  const workflow = `/workflows/${made.text('workflowId')}`;
  await shop.call('POST', `${workflow}/install?userId=${shop.userId}`, {
    body: { config: {}, credentials: { mirror: ids.get('basic') } },
  });
  const run = await shop.call('POST', `${workflow}/run?userId=${shop.userId}`, { body: {} });
  const read = () => shop.call('GET', `${workflow}/runs/${run.text('runId')}`);
  await until(async () => (await read()).at('status') === 'succeeded');
  const done = await read();
  expect(done.text('steps.0.output.data.clear')).toContain('[secret]');
  await shop.service.context.executions.flush();
  const { database } = shop.service.context.config;
  const files = database.kind === 'sqlite' ? [database.path, `${database.path}-wal`] : [];
  const stored = files.map((file) => readFileSync(file, 'latin1'));
  expect(stored.join('')).toContain('[secret]');
  const found = traces().map((trace) => Buffer.from(trace).toString('latin1'));
  expect(found.filter((trace) => stored.some((text) => text.includes(trace)))).toEqual([]);
  expect(leaks([JSON.stringify(done.body)])).toEqual([]);
});
