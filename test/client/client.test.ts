import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ApiError,
  createClient,
  records,
  verifyWebhook,
  type Client,
  type WebhookFault,
} from '../../src/client/client.ts';
import { startReceiver, type Receiver, type Received } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';

let service: Service;
let client: Client;
let userId: string;
let credentialId: string;
const execute = '/connectors/{connectorId}/actions/{actionId}/execute';

beforeAll(async () => {
  service = await startService();
  client = createClient({ baseUrl: `${service.url}/`, token: service.developmentKey });
  ({ userId } = await client.post('/users', { body: { username: 'ada' } }));
  const made = await client.post('/users/{userId}/credentials', {
    params: { path: { userId }, header: { 'x-svc-userid': userId } },
    body: { connectorId: 'sandbox', data: { apiKey: 'sandbox_client' } },
  });
  if (!('credentialId' in made)) throw new Error('A key needs no sign-in.');
  ({ credentialId } = made);
});
afterAll(() => service.stop());

describe('lists', () => {
  test('a list is read over all its pages, by cursors and by offsets', async () => {
    const names = ['ada', 'bob', 'carol', 'dora', 'eve'];
    for (const username of names.slice(1)) await client.post('/users', { body: { username } });
    const pages: number[] = [];
    for await (const { data } of client.listPages('/users', { params: { query: { limit: 2 } } }))
      pages.push(data.length);
    expect(pages).toEqual([2, 2, 1]);
    const found: string[] = [];
    for await (const { username } of client.list('/users', { params: { query: { limit: 2 } } }))
      found.push(username);
    expect(found.toSorted()).toEqual(names);

    const connectors: string[] = [];
    for await (const { connectorId } of client.list('/connectors')) connectors.push(connectorId);
    expect(connectors.length).toBeGreaterThan(20);
    expect(new Set(connectors).size).toBe(connectors.length);
  });

  test('the records of an action are read over the pages of its app', async () => {
    const params = {
      path: { connectorId: 'sandbox', actionId: 'list_customers' },
      header: { 'x-svc-userid': userId },
    };
    const found: unknown[] = [];
    for await (const customer of records(async (position) => {
      const input = { limit: 50, ...position };
      const { data, pagination } = await client.post(execute, { params, body: { credentialId, input } });
      if (!Array.isArray(data) || !pagination) throw new Error('This action lists.');
      return { data, pagination };
    }))
      found.push(customer);
    expect(found).toHaveLength(120);
  });

  test('a loop that is left requests no further page', async () => {
    let requests = 0;
    const counting = createClient({
      baseUrl: service.url,
      token: service.developmentKey,
      fetch: (request) => {
        requests += 1;
        return fetch(request);
      },
    });
    for await (const user of counting.list('/users', { params: { query: { limit: 1 } } }))
      if (user.userId) break;
    expect(requests).toBe(1);
  });
});

describe('errors', () => {
  const errorOf = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);

  test('a refusal is an ApiError with code, details and request id', async () => {
    const error = await errorOf(client.post('/users', { body: { username: 'ada' } }));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 409, code: 'user_exists', requestId: expect.any(String) });
    const faulty = await errorOf(client.post('/users', { body: { username: '' } }));
    expect(faulty).toMatchObject({ code: 'invalid_request', details: { faults: [{ field: 'username' }] } });
  });

  test('the answer of a proxy is an ApiError without a code', async () => {
    const behind = createClient({
      baseUrl: service.url,
      token: 'unused',
      fetch: async () =>
        new Response('<h1>Bad gateway</h1>', { status: 502, headers: { 'retry-after': '7' } }),
    });
    expect(await errorOf(behind.get('/health'))).toMatchObject({
      status: 502,
      code: undefined,
      retryAfterSeconds: 7,
      message: expect.stringContaining('502'),
    });
  });

  test('a token function is asked before each request', async () => {
    const tokens = ['gh_dev_wrong', service.developmentKey];
    const renewing = createClient({ baseUrl: service.url, token: async () => tokens.shift() ?? '' });
    expect(await errorOf(renewing.get('/users'))).toMatchObject({ status: 401, code: 'unauthorized' });
    expect(await renewing.get('/users')).toMatchObject({ pagination: { hasMore: false } });
  });
});

describe('webhooks', () => {
  let receiver: Receiver;
  let secret: string;
  let subscriptionId: string;
  let delivery: Received;
  beforeAll(async () => {
    receiver = await startReceiver();
    ({ secret, subscriptionId } = await client.post('/2023-03/one/webhooks', {
      params: { query: { connectionId: credentialId } },
      body: { address: receiver.url, scope: 'commerce/customers' },
    }));
    await client.post('/webhooks/{subscriptionId}/test', { params: { path: { subscriptionId } } });
    const [first] = await receiver.arrived(1);
    if (!first) throw new Error('nothing arrived');
    delivery = first;
  });
  afterAll(() => receiver[Symbol.asyncDispose]());

  test('a delivery is verified with all its facts, from either form of headers', async () => {
    const verified = await verifyWebhook<{ id: string }>(delivery, { secret });
    expect(verified).toMatchObject({
      id: delivery.headers['webhook-id'],
      event: 'test',
      scope: 'commerce/customers',
      sequence: 1,
      subscriptionId,
      test: true,
      record: { id: 'test' },
    });
    const { body, headers } = delivery;
    const request = { body: new TextEncoder().encode(body), headers: new Headers(headers) };
    expect(await verifyWebhook(request, { secret: ['whsec_b3RoZXI=', secret] })).toEqual(verified);
  });

  test('a webhook verifies with the old and the new secret after a rotation', async () => {
    const rotated = await client.post('/webhooks/{subscriptionId}/rotate-secret', {
      params: { path: { subscriptionId } },
    });
    await client.post('/webhooks/{subscriptionId}/test', { params: { path: { subscriptionId } } });
    const second = (await receiver.arrived(2))[1] ?? delivery;
    expect(await verifyWebhook(second, { secret })).toMatchObject({ sequence: 2 });
    expect(await verifyWebhook(second, { secret: rotated.secret })).toMatchObject({ sequence: 2 });
  });

  const HOUR = 3_600_000;
  test.each<[string, WebhookFault, (sent: Received) => Partial<Received> & { now?: number }]>([
    ['a changed body', 'signature_wrong', ({ body }) => ({ body: `${body} ` })],
    ['another id', 'signature_wrong', ({ headers }) => ({ headers: { ...headers, 'webhook-id': 'msg_x' } })],
    [
      'a signature that is not base64',
      'signature_wrong',
      ({ headers }) => ({ headers: { ...headers, 'webhook-signature': 'v1,%%% v1a,abc' } }),
    ],
    [
      'no signature',
      'header_missing',
      ({ headers }) => ({ headers: { ...headers, 'webhook-signature': '' } }),
    ],
    [
      'a time that is none',
      'timestamp_invalid',
      ({ headers }) => ({ headers: { ...headers, 'webhook-timestamp': '1e9' } }),
    ],
    ['an old request', 'too_old', () => ({ now: Date.now() + HOUR })],
    ['a request of the future', 'too_new', () => ({ now: Date.now() - HOUR })],
  ])('a webhook request is refused for %s as %s', async (_name, code, change) => {
    const { now = Date.now(), ...changed } = change(delivery);
    await expect(verifyWebhook({ ...delivery, ...changed }, { secret, now })).rejects.toMatchObject({ code });
  });

  test('a text that is no secret is a mistake of the receiver', async () => {
    await expect(verifyWebhook(delivery, { secret: 'hunter2' })).rejects.toBeInstanceOf(TypeError);
  });
});
