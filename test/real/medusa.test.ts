import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { connectClient } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { storeFile } from '../support/files.ts';
import { install, UNREACHABLE } from './install.ts';
import { startMedusa, type Medusa } from './medusa.ts';

/* The main job against a real third party: Medusa, over REST and over MCP, with a stored credential. */

let medusa: Medusa;
let service: Service;
let client: Client;
let userId: string;
let credentialId: string;

const folder = await install('medusa');

beforeAll(async () => {
  if (folder === undefined) return;
  medusa = await startMedusa(folder);
  service = await startService({ env: { LOG_LEVEL: 'debug' } });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
});
beforeEach(({ skip }) => skip(folder === undefined, UNREACHABLE));
afterAll(async () => {
  await client?.close();
  await service?.stop();
  await medusa?.[Symbol.asyncDispose]();
});

const asUser = () => ({ headers: { 'x-svc-userid': userId } });
const connect = (apiKey: string) =>
  service.call('POST', `/users/${userId}/credentials`, {
    ...asUser(),
    body: { connectorId: 'medusa', data: { backendUrl: medusa.url, apiKey } },
  });
const execute = (actionId: string, input: object) =>
  service.call('POST', `/connectors/medusa/actions/${actionId}/execute`, { ...asUser(), body: { input } });
const callTool = async (name: string, args: object) =>
  toolResult.parse(await client.callTool({ name, arguments: { ...args } }));

const toolResult = z.object({
  isError: z.boolean().optional(),
  structuredContent: z.looseObject({ error: z.looseObject({ code: z.string() }).optional() }),
});
const page = z.object({
  data: z.array(z.object({ id: z.string() })),
  pagination: z.object({ hasMore: z.boolean(), nextOffset: z.int().optional() }),
});
const order = z.object({ data: z.object({ id: z.string(), status: z.string(), total: z.number() }) });

/** Returns the ids of a list, read page by page to its end, and the number of pages. */
async function readAll(limit: number, read: (window: object) => Promise<unknown>) {
  const ids: string[] = [];
  let pages = 0;
  let offset: number | undefined = 0;
  while (offset !== undefined) {
    const { data, pagination } = page.parse(await read({ limit, offset }));
    ids.push(...data.map(({ id }) => id));
    expect(pagination.hasMore).toBe(pagination.nextOffset !== undefined);
    offset = pagination.nextOffset;
    pages++;
  }
  return { ids, pages };
}

test('a wrong key is refused when it is given, and nothing is stored', async () => {
  const refused = await connect('sk_00');
  expect([refused.status, refused.text('code')]).toEqual([409, 'credential_invalid']);
  const list = await service.call('GET', `/users/${userId}/credentials`, asUser());
  expect(list.at('data')).toEqual([]);
});

test('the real key is probed, named by its shop, and stored', async () => {
  const made = await connect(medusa.secretKey);
  expect([made.status, made.at('state')]).toEqual([201, 'active']);
  expect([made.at('account.name'), made.at('name')]).toEqual(['Medusa Store', 'Medusa Store']);
  credentialId = made.text('credentialId');
  const server = await service.call('POST', '/api/servers', {
    ...asUser(),
    body: {
      name: 'shop',
      restrictions: {
        connectors: { mode: 'allowlist', allowedIds: ['medusa'] },
        actions: { mode: 'blocklist', blockedActions: ['medusa.delete_*'] },
      },
    },
  });
  client = await connectClient(server.text('accessUrl'));
});

test('REST reads a list to its end, each record once', async () => {
  const { ids, pages } = await readAll(10, async (window) => (await execute('list_customers', window)).body);
  expect([ids.length, new Set(ids).size, pages]).toEqual([medusa.customers, medusa.customers, 3]);
});

test('MCP reads the same list to its end', async () => {
  const read = async (window: object) => (await callTool('medusa_list_customers', window)).structuredContent;
  const { ids, pages } = await readAll(7, read);
  expect([ids.length, new Set(ids).size, pages]).toEqual([medusa.customers, medusa.customers, 4]);
});

test('MCP shows the allowed actions, and no other can be called', async () => {
  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name).filter((name) => !name.endsWith('_svc'));
  expect(names).toContain('medusa_create_customer');
  expect(names.filter((name) => !name.startsWith('medusa_') || name.includes('delete'))).toEqual([]);
  const before = await execute('list_customers', { limit: 1 });
  await expect(
    callTool('medusa_delete_customer', { customerId: before.text('data.0.id') }),
  ).rejects.toMatchObject({ code: -32003 });
  const after = await execute('get_customer', { customerId: before.text('data.0.id') });
  expect(after.status).toBe(200);
});

test('REST reads and changes a record that MCP wrote', async () => {
  const made = await callTool('medusa_create_customer', { email: 'agent@example.test', first_name: 'Agent' });
  expect(made).toMatchObject({ structuredContent: { data: { email: 'agent@example.test' } } });
  const found = await execute('list_customers', { email: 'agent@example.test' });
  const customerId = found.text('data.0.id');
  const changed = await execute('update_customer', { customerId, last_name: 'Smith' });
  expect(changed.at('data.last_name')).toBe('Smith');
  expect((await execute('delete_customer', { customerId })).at('data.deleted')).toBe(true);
});

test('an order is drafted and placed over MCP and read over REST', async () => {
  const drafted = await callTool('medusa_create_draft_order', {
    region_id: medusa.regionId,
    email: 'customer0@example.test',
    items: [{ variant_id: medusa.variantId, quantity: 3 }],
  });
  const { data: draft } = order.parse(drafted.structuredContent);
  expect([draft.status, draft.total]).toEqual(['draft', 30]);
  const placed = await callTool('medusa_convert_draft_order', { draftOrderId: draft.id });
  expect(order.parse(placed.structuredContent).data.status).toBe('pending');
  const read = await execute('get_order', { orderId: draft.id });
  expect(read.at('data')).toMatchObject({
    currency_code: 'eur',
    total: 30,
    items: [{ title: 'Mug', quantity: 3 }],
  });
});

test('a file is uploaded, read back byte for byte, and deleted', async () => {
  const content = Buffer.from(Array.from({ length: 100_000 }, (_, n) => n % 251));
  const fileId = await storeFile(service, { userId, content });
  const made = await execute('upload_file', { file: { fileId, name: 'mug.bin' } });
  const address = new URL(made.text('data.url'));
  const read = await fetch(new URL(address.pathname, medusa.url));
  expect(Buffer.from(await read.arrayBuffer()).equals(content)).toBe(true);
  const uploadId = made.text('data.id');
  expect((await execute('get_file', { uploadId })).at('data.url')).toBe(made.at('data.url'));
  expect((await execute('delete_file', { uploadId })).at('data.deleted')).toBe(true);
});

test('a refusal of the third party is quoted over REST and over MCP', async () => {
  const taken = await execute('create_customer', { email: 'customer0@example.test' });
  expect([taken.status, taken.text('code')]).toEqual([422, 'upstream_rejected']);
  expect(taken.text('error')).toContain('already exists');
  const told = await callTool('medusa_create_customer', { email: 'customer0@example.test' });
  expect([told.isError, told.structuredContent.error?.code]).toEqual([true, 'upstream_rejected']);
});

test('an unknown id is reported with the status of the third party', async () => {
  const absent = await execute('get_order', { orderId: 'order_none' });
  expect([absent.status, absent.text('code'), absent.at('details.status')]).toEqual([
    422,
    'upstream_rejected',
    404,
  ]);
  const told = await callTool('medusa_get_order', { orderId: 'order_none' });
  expect([told.isError, told.structuredContent.error?.code]).toEqual([true, 'upstream_rejected']);
});

test('a key that is revoked in Medusa must be replaced', async () => {
  await medusa.revokeKey();
  const told = await callTool('medusa_list_customers', {});
  expect([told.isError, told.structuredContent.error?.code]).toEqual([true, 'credential_invalid']);
  const refused = await execute('list_customers', {});
  expect([refused.status, refused.text('code')]).toEqual([409, 'credential_invalid']);
  const read = await service.call('GET', `/users/${userId}/credentials/${credentialId}`, asUser());
  expect(read.at('state')).toBe('needs_reconnect');
});

test('no line of the log and no execution holds the key', async () => {
  const executions = await service.call('GET', '/api/executions?limit=50');
  expect(executions.at('data.0.connectorId')).toBe('medusa');
  expect(service.logged.length).toBeGreaterThan(0);
  const written = service.logged.join('\n') + JSON.stringify(executions.body);
  expect(written).not.toContain(medusa.secretKey);
  expect(written).not.toContain(Buffer.from(`${medusa.secretKey}:`).toString('base64'));
});
