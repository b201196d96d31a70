import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { makeCertificate, type Certificate } from '../support/certificate.ts';
import { connectClient } from '../support/mcp.ts';
import { startReceiver, verified, type Receiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';
import { install, UNREACHABLE } from './install.ts';
import { startVendure, type Vendure } from './vendure.ts';

/*
 * A shop that Gatehouse ships no connector for: Vendure, over GraphQL, with sessions, amounts in minor units and
 * refusals in answers of success. The file in connectors/ alone drives it.
 */

const CUSTOMERS = 23;

let vendure: Vendure;
let certificate: Certificate;
let receiver: Receiver;
let service: Service;
let client: Client;
let userId: string;
let credentialId: string;

const folder = await install('vendure');

beforeAll(async () => {
  if (folder === undefined) return;
  vendure = await startVendure(folder);
  certificate = makeCertificate();
  receiver = await startReceiver(certificate);
  service = await startService({
    env: {
      GATEHOUSE_CONNECTORS: join(import.meta.dirname, 'connectors'),
      GATEHOUSE_CA_FILE: certificate.file,
      GATEHOUSE_POLL_INTERVAL: '1',
      LOG_LEVEL: 'debug',
    },
  });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
});
beforeEach(({ skip }) => skip(folder === undefined, UNREACHABLE));
afterAll(async () => {
  await client?.close();
  await service?.stop();
  await receiver?.[Symbol.asyncDispose]();
  certificate?.[Symbol.dispose]();
  await vendure?.[Symbol.asyncDispose]();
});

const asUser = () => ({ headers: { 'x-svc-userid': userId } });
const connect = (password: string) =>
  service.call('POST', `/users/${userId}/credentials`, {
    ...asUser(),
    body: { connectorId: 'vendure', data: { serverUrl: vendure.url, username: vendure.username, password } },
  });
const execute = (actionId: string, input: object) =>
  service.call('POST', `/connectors/vendure/actions/${actionId}/execute`, { ...asUser(), body: { input } });
const unified = (method: string, path: string, body?: object) =>
  service.call(
    method,
    `/2023-03/one/${path}${path.includes('?') ? '&' : '?'}connectionId=${credentialId}`,
    body ? { body } : {},
  );

const toolResult = z.object({
  isError: z.boolean().optional(),
  structuredContent: z.looseObject({
    data: z.unknown().optional(),
    pagination: z.looseObject({ nextOffset: z.int().optional() }).optional(),
    error: z.looseObject({ code: z.string() }).optional(),
  }),
});
/** Calls a tool, and returns its structured content. */
const callTool = async (name: string, args: object) =>
  toolResult.parse(await client.callTool({ name: `vendure_${name}`, arguments: { ...args } }));
const records = z.array(z.object({ id: z.string() }));
const one = z.looseObject({ id: z.string() });

/** Calls a tool that must succeed, and returns the id of its result. */
async function made(name: string, args: object): Promise<string> {
  const { isError, structuredContent } = await callTool(name, args);
  if (isError) throw new Error(`${name}: ${JSON.stringify(structuredContent)}`);
  return one.parse(structuredContent.data).id;
}

test('a wrong password is refused, and the right one is exchanged for a session', async () => {
  const refused = await connect('wrong-password');
  expect([refused.status, refused.text('code')]).toEqual([409, 'credential_invalid']);
  const stored = await connect(vendure.password);
  expect([stored.status, stored.at('state'), stored.at('account.name')]).toEqual([
    201,
    'active',
    vendure.username,
  ]);
  credentialId = stored.text('credentialId');
  const server = await service.call('POST', '/api/servers', {
    ...asUser(),
    body: {
      name: 'shop',
      restrictions: { connectors: { mode: 'allowlist', allowedIds: ['vendure'] } },
    },
  });
  client = await connectClient(server.text('accessUrl'));
});

test('customers are created, and listed to the end over REST and over MCP', async () => {
  const ids: string[] = [];
  for (let n = 0; n < CUSTOMERS; n++) {
    const email = `customer${n}@example.test`;
    ids.push(await made('create_customer', { email, firstName: `C${n}`, lastName: 'Test' }));
  }
  const overRest: string[] = [];
  const overMcp: string[] = [];
  for (let offset: unknown = 0; offset !== undefined;) {
    const page = await execute('list_customers', { limit: 10, offset });
    overRest.push(...records.parse(page.at('data')).map(({ id }) => id));
    offset = page.at('pagination.nextOffset');
  }
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const { structuredContent } = await callTool('list_customers', { limit: 7, offset });
    overMcp.push(...records.parse(structuredContent.data).map(({ id }) => id));
    offset = structuredContent.pagination?.nextOffset;
  }
  for (const listed of [overRest, overMcp]) expect(listed.toSorted()).toEqual(ids.toSorted());
});

test('a customer is read, changed and deleted', async () => {
  const found = await execute('list_customers', { email: 'customer7@example.test' });
  const customerId = found.text('data.0.id');
  const changed = await execute('update_customer', { customerId, lastName: 'Lovelace' });
  expect([changed.at('data.firstName'), changed.at('data.lastName')]).toEqual(['C7', 'Lovelace']);
  expect((await execute('get_customer', { customerId })).at('data.lastName')).toBe('Lovelace');
  expect((await execute('delete_customer', { customerId })).status).toBe(200);
  expect((await execute('list_customers', { email: 'customer7@example.test' })).at('data')).toEqual([]);
});

test('refusals in answers of success are quoted over REST and over MCP', async () => {
  const taken = { email: 'customer0@example.test', firstName: 'C', lastName: 'Test' };
  const refused = await execute('create_customer', taken);
  expect([refused.status, refused.text('code')]).toEqual([422, 'upstream_rejected']);
  expect(refused.text('error')).toContain('is not available');
  const { isError, structuredContent } = await callTool('update_order_state', {
    orderId: '999',
    state: 'Cancelled',
  });
  expect([isError, structuredContent.error?.code]).toEqual([true, 'upstream_rejected']);
});

test('an order is drafted and paid over MCP, and read in the unified model', async () => {
  const productId = await made('create_product', { name: 'Mug', slug: 'mug', description: 'Holds tea.' });
  const variantId = await made('create_variant', {
    productId,
    name: 'Mug, blue',
    sku: 'MUG-1',
    price: '12.50',
    currency: 'USD',
    stock: 100,
  });
  const orderId = await made('create_draft_order', {});
  await made('add_draft_order_item', { orderId, variantId, quantity: 3 });
  const customer = await execute('list_customers', { email: 'customer1@example.test' });
  await made('set_draft_order_customer', { orderId, customerId: customer.text('data.0.id') });
  await made('set_draft_order_address', {
    orderId,
    street: 'Lindenweg 1',
    city: 'Berlin',
    postalCode: '10115',
    country: 'DE',
  });
  const ways = await callTool('list_draft_order_shippings', { orderId });
  const shippingMethodId = records.parse(ways.structuredContent.data)[0]?.id;
  await made('set_draft_order_shipping', { orderId, shippingMethodId });
  await made('update_order_state', { orderId, state: 'ArrangingPayment' });
  await made('add_order_payment', { orderId, method: 'transfer', transactionId: 'T-1' });

  // 3 mugs at 12.50 with 20 % tax, and 5.00 for the parcel.
  const list = await unified('GET', 'commerce/orders');
  expect(list.at('data.0')).toMatchObject({
    remoteId: orderId,
    orderStatus: 'open',
    paymentStatus: 'paid',
    currency: 'USD',
    totalPrice: '50.00',
    subtotalPrice: '45.00',
    totalShipping: '5.00',
    customer: { email: 'customer1@example.test' },
    lineItems: [{ sku: 'MUG-1', quantity: 3, price: '15.00', currency: 'USD' }],
  });
  const products = await unified('GET', 'commerce/products');
  expect(products.at('data.0')).toMatchObject({
    remoteId: productId,
    productName: 'Mug',
    price: '15.00',
    variants: [{ remoteId: variantId, sku: 'MUG-1' }],
  });
});

test('a customer who is created and changed in unified form arrives as two events', async () => {
  const subscription = await service.call('POST', `/2023-03/one/webhooks?connectionId=${credentialId}`, {
    body: { address: receiver.url, scope: 'commerce/customers', events: ['created', 'updated'] },
  });
  expect([subscription.status, subscription.at('source')]).toEqual([201, 'polling']);
  // The first poll records the customers of before.
  await until(async () => {
    const source = await service.context.db
      .selectFrom('sources')
      .select('baseline_at')
      .where('credential_id', '=', credentialId)
      .where('scope', '=', 'commerce/customers')
      .executeTakeFirst();
    return source !== undefined && source.baseline_at !== null;
  });
  const created = await unified('POST', 'commerce/customers', {
    firstName: 'Ada',
    lastName: 'Byron',
    email: 'ada@example.test',
  });
  expect(created.status).toBe(201);
  // Customers from the two seconds before the subscription may arrive too.
  const events = () =>
    receiver.received
      .map((delivery) => {
        const body = z
          .looseObject({ lastName: z.unknown() })
          .parse(verified(subscription.text('secret'), delivery));
        return [delivery.headers['x-svc-event'], body['remoteId'], body.lastName];
      })
      .filter(([, remoteId]) => remoteId === created.at('remoteId'));
  await until(() => events().length >= 1);
  await vendure.ask(
    'mutation ($input: UpdateCustomerInput!) { updateCustomer(input: $input) { __typename } }',
    {
      input: { id: created.text('remoteId'), lastName: 'Lovelace' },
    },
  );
  await until(() => events().length >= 2);
  expect(events()).toEqual([
    ['created', created.at('remoteId'), 'Byron'],
    ['updated', created.at('remoteId'), 'Lovelace'],
  ]);
});

test('a session that ended in Vendure is renewed without a person', async () => {
  const ended = await execute('request', {
    method: 'POST',
    path: '/admin-api',
    body: { query: 'mutation { logout { success } }' },
  });
  expect(ended.status).toBe(200);
  expect((await execute('get_me', {})).at('data.identifier')).toBe(vendure.username);
});

test('no line of the log holds the password', () => {
  expect(service.logged.length).toBeGreaterThan(0);
  expect(service.logged.join('\n')).not.toContain(vendure.password);
});
