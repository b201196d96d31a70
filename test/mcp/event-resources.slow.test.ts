import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { CompiledQuery } from 'kysely';
import { afterEach, expect, test } from 'vitest';
import { parseJson, valueAt } from '../../src/lib/json.ts';
import { newestOf, recentEvents } from '../../src/mcp/answers/events.ts';
import { created, eventsCatalog, subscribe } from '../support/events.ts';
import { shop } from '../support/mcp.ts';
import { connectListener, polled, pollsIn } from '../support/polls.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS, type StoreKind } from '../support/stores.ts';

const SCOPE = 'commerce/customers';
const URI = `svc://events/${SCOPE}`;
const SOON = { interval: 20 };

const closing: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

test.each([
  ['another action of the app', { actions: { allowedActions: ['sandbox.send_message'] } }],
  ['all but the list', { actions: { blockedActions: ['sandbox.list_customers', 'shop.*'] } }],
  ['all but reading one', { actions: { blockedActions: ['sandbox.get_customer', 'shop.*'] } }],
  ['no action that reads', { effects: { allowed: ['write'] } }],
])('a server that allows %s neither lists, shows nor reports events', async (_, restrictions) => {
  const { service, one, happened } = await sold(restrictions);
  await happened.sandbox(['c1']);
  const { client, updates } = await connected(service, one.accessUrl);
  expect(await shown(client)).toEqual([]);
  expect(await addresses(client)).not.toContain(URI);
  await client.subscribeResource({ uri: URI });
  await happened.sandbox(['c2']);
  await polled(service);
  expect(updates).toEqual([]);
});

test.each(STORE_KINDS)('on %s both actions of a model give access to its events', async (kind) => {
  const actions = { allowedActions: ['sandbox.list_customers', 'sandbox.get_customer'] };
  const { service, one, happened } = await sold({ actions }, kind);
  await happened.sandbox(['c1']);
  const { client, updates } = await connected(service, one.accessUrl);
  expect((await addresses(client)).filter((uri) => uri.startsWith('svc://events/'))).toEqual([URI]);
  expect(await shown(client)).toEqual(['c1']);
  await client.subscribeResource({ uri: URI });
  await happened.sandbox(['c2']);
  await expect.poll(() => updates, SOON).toEqual([URI]);
  expect(await shown(client)).toEqual(['c2', 'c1']);
});

test('hidden events do not count towards the shown ones', async () => {
  const { service, one, happened } = await sold({ connectors: { blockedIds: ['shop'] } });
  await happened.sandbox(['c1']);
  await happened.shop(Array.from({ length: 60 }, (_, n) => `hidden_${n}`));
  const { client, updates } = await connected(service, one.accessUrl);
  expect(await shown(client)).toEqual(['c1']);
  await client.subscribeResource({ uri: URI });
  await happened.shop(['hidden_too']);
  await polled(service);
  expect(updates).toEqual([]);
});

test('a server that loses the right to a model sends no more notifications', async () => {
  const { service, one, happened } = await sold({});
  const { client, updates } = await connected(service, one.accessUrl);
  await client.subscribeResource({ uri: URI });
  const restrictions = { actions: { blockedActions: ['sandbox.list_customers', 'shop.list_things'] } };
  await service.call('PUT', `/api/servers/${one.serverId}`, { body: { restrictions } });
  await expect.poll(() => updates.length, SOON).toBeGreaterThan(0);
  await polled(service);
  const before = updates.length;
  await happened.sandbox(['c1']);
  await polled(service);
  expect(updates.length).toBe(before);
});

test('the newest events are found by an index', async () => {
  const { service, one, happened } = await sold({});
  await happened.sandbox(['c1']);
  await happened.shop(['c2']);
  const { context } = service;
  const queries: CompiledQuery[] = [];
  const db = context.db.withPlugin({
    transformQuery({ node, queryId }) {
      queries.push(context.db.getExecutor().compileQuery(node, queryId));
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const live = await context.servers.byId('development', one.serverId);
  if (!live) throw new Error('there is no server');
  const viewer = { environment: 'development' as const, userId: one.userId, live };
  await newestOf({ ...context, db }, viewer, { uris: [URI] });
  await recentEvents({ ...context, db }, viewer, SCOPE);
  expect(queries.some(({ sql }) => sql.includes('"body"'))).toBe(true);
  for (const { sql, parameters } of queries) {
    const plan = await context.db.executeQuery<{ detail: string }>(
      CompiledQuery.raw(`explain query plan ${sql}`, [...parameters]),
    );
    const steps = plan.rows.map(({ detail }) => detail);
    expect(steps).toContainEqual(expect.stringMatching(/^SEARCH events USING INDEX \w+ \(source_id=\?\)$/));
    expect(steps).not.toContain('USE TEMP B-TREE FOR ORDER BY');
  }
});

test('listeners of the same user share one check', async () => {
  const { service, one } = await sold({});
  for (let n = 0; n < 5; n++) {
    const { client } = await connected(service, one.accessUrl);
    await client.subscribeResource({ uri: URI });
  }
  // Its loops read sources too.
  await service.context.sources.close();
  const tables = await polled(service, 8);
  expect(tables.filter((table) => table === 'sources').length).toBeLessThanOrEqual(pollsIn(tables));
});

/** Creates a user with accounts of the sandbox and the shop, and a subscription to customers. */
async function sold(restrictions: object, kind: StoreKind = 'sqlite') {
  const service = await startService({ kind, catalogFolder: eventsCatalog() });
  closing.push(() => service.stop());
  const receiver = await startReceiver();
  closing.push(() => receiver[Symbol.asyncDispose]());
  const one = await shop(service, { restrictions });
  const { userId } = one;
  const other = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'shop', data: { token: 'shop_0123456789' } },
  });
  const accounts = {
    sandbox: { ...service, userId, connectionId: one.credentialId },
    shop: { ...service, userId, connectionId: other.text('credentialId') },
  };
  for (const account of Object.values(accounts))
    await subscribe(account, { address: receiver.url, scope: SCOPE });
  const happened = {
    sandbox: (ids: string[]) => created(accounts.sandbox, ids, { scope: SCOPE }),
    shop: (ids: string[]) => created(accounts.shop, ids, { scope: SCOPE }),
  };
  return { service, one, happened };
}

/** Returns a client with an open standing stream, and the resources that it was notified of. */
async function connected(service: Service, url: string) {
  const client = await connectListener(service, url);
  closing.push(() => client.close());
  const updates: string[] = [];
  client.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params }) => void updates.push(params.uri),
  );
  return { client, updates };
}

async function addresses(client: Client): Promise<string[]> {
  return (await client.listResources()).resources.map(({ uri }) => uri);
}

/** Returns the ids of the records in the events of customers, newest first. */
async function shown(client: Client): Promise<unknown[]> {
  const { contents } = await client.readResource({ uri: URI });
  const [content] = contents;
  const events = valueAt(parseJson(content && 'text' in content ? content.text : ''), 'events');
  return Array.isArray(events) ? events.map((event) => valueAt(event, 'record.id')) : [];
}
