import { tmpdir } from 'node:os';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { EventScope } from '../../src/connectors/event-scopes.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { BIN, cliEnv } from '../support/cli.ts';
import { created, subscribe } from '../support/events.ts';
import { shop } from '../support/mcp.ts';
import { listenTo } from '../support/modern.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

/*
 * Notifications of events to clients without an HTTP session. A later expected notification proves that no
 * unexpected one came before it.
 */
const CUSTOMERS = 'svc://events/commerce/customers';
const ORDERS = 'svc://events/commerce/orders';
const SOON = { interval: 20 };

const closing: (() => PromiseLike<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

describe.each(STORE_KINDS)('over %s', (kind) => {
  let service: Service;
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver();
    service = await startService({ kind });
  });
  afterAll(async () => {
    await service.stop();
    await receiver[Symbol.asyncDispose]();
  });

  test('a listener of MCP 2026-07-28 is notified only of events it may see', async () => {
    const one = await seller();
    const other = await seller();
    const blind = await service.call('POST', '/api/servers', {
      headers: { 'x-svc-userid': one.userId },
      body: { name: 'blind', restrictions: { actions: { blockedActions: ['sandbox.get_customer'] } } },
    });
    const asOther = { authorization: `Bearer ${service.developmentKey}`, 'x-svc-userid': other.userId };
    const mine = await listen(one.accessUrl, CUSTOMERS);
    const orders = await listen(one.accessUrl, ORDERS);
    const theirs = await listen(one.url, CUSTOMERS, asOther);
    const denied = await listen(blind.text('accessUrl'), CUSTOMERS);

    await one.happened('commerce/orders');
    await expect.poll(() => orders, SOON).toContainEqual(updated(ORDERS));
    await one.happened('commerce/customers');
    await expect.poll(() => mine, SOON).toContainEqual(updated(CUSTOMERS));
    await other.happened('commerce/customers');
    await expect.poll(() => theirs, SOON).toContainEqual(updated(CUSTOMERS));
    await one.happened('commerce/customers');
    await expect
      .poll(() => mine, SOON)
      .toEqual([acknowledged(CUSTOMERS), updated(CUSTOMERS), updated(CUSTOMERS)]);
    expect(orders).toEqual([acknowledged(ORDERS), updated(ORDERS)]);
    expect(theirs).toEqual([acknowledged(CUSTOMERS), updated(CUSTOMERS)]);
    expect(denied).toHaveLength(1);
  });

  test.each(['from the store', 'over the bridge'])(
    'a client over stdio is notified of events of another process: %s',
    async (way) => {
      const one = await seller();
      const { client, updates } = await connected(
        way === 'from the store'
          ? ['--server', one.serverId, '--user', one.userId]
          : ['--url', one.accessUrl],
      );
      await client.subscribeResource({ uri: CUSTOMERS });
      await one.happened('commerce/orders');
      await one.happened('commerce/customers');
      await expect.poll(() => updates, SOON).toEqual([CUSTOMERS]);

      await client.unsubscribeResource({ uri: CUSTOMERS });
      await client.subscribeResource({ uri: ORDERS });
      await one.happened('commerce/customers');
      await one.happened('commerce/orders');
      await expect.poll(() => updates, SOON).toEqual([CUSTOMERS, ORDERS]);
    },
  );

  /** Creates a user with a server and subscriptions to customers and orders. */
  async function seller() {
    const one = await shop(service);
    const account = { ...service, userId: one.userId, connectionId: one.credentialId };
    for (const scope of ['commerce/customers', 'commerce/orders'])
      await subscribe(account, { address: receiver.url, scope });
    let count = 0;
    const happened = (scope: EventScope) => created(account, [`record_${++count}`], { scope });
    return { ...one, happened };
  }

  /** Returns the official client on a process of `gatehouse stdio`, and the resources that it was notified of. */
  async function connected(args: string[]) {
    const client = new Client({ name: 'test', version: '1.0.0' });
    closing.push(() => client.close());
    const updates: string[] = [];
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void updates.push(params.uri),
    );
    const { env } = service;
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [BIN, 'stdio', ...args],
        env: cliEnv(env['GATEHOUSE_HOME'] ?? '', env),
        cwd: tmpdir(),
      }),
    );
    return { client, updates };
  }
});

/** Returns the messages of a stream that listens to one resource, from its acknowledgement on. */
async function listen(url: string, uri: string, headers: Record<string, string> = {}): Promise<Json[]> {
  const { messages, leave } = await listenTo(url, [uri], headers);
  closing.push(leave);
  await expect.poll(() => messages, SOON).toHaveLength(1);
  return messages;
}

function acknowledged(uri: string): Json {
  return notification('subscriptions/acknowledged', { notifications: { resourceSubscriptions: [uri] } });
}

function updated(uri: string): Json {
  return notification('resources/updated', { uri });
}

function notification(name: string, params: JsonObject): Json {
  const tag = { 'io.modelcontextprotocol/subscriptionId': 'q1' };
  return { jsonrpc: '2.0', method: `notifications/${name}`, params: { ...params, _meta: tag } };
}
