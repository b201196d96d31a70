import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { connectClient } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { installMedusa, startMedusa, type Medusa } from './medusa.ts';

/* The main job against a third party that nobody here wrote: Medusa, over REST and over MCP, with a stored credential. */
let medusa: Medusa;
let service: Service;
let userId: string;
let credentialId: string;
let accessUrl: string;

beforeAll(async () => {
  medusa = await startMedusa(await installMedusa(), await freePort());
  service = await startService({ env: { LOG_LEVEL: 'warn' } });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
});
afterAll(async () => {
  await service?.stop();
  await medusa?.[Symbol.asyncDispose]();
});

const customerPage = z.object({
  data: z.array(z.object({ id: z.string() })),
  pagination: z.object({ nextOffset: z.int().optional() }),
});

const connect = (apiKey: string) =>
  service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'medusa', data: { backendUrl: medusa.url, apiKey } },
  });
const execute = (actionId: string, input: object) =>
  service.call('POST', `/connectors/medusa/actions/${actionId}/execute`, {
    headers: { 'x-svc-userid': userId },
    body: { input },
  });

test('a wrong key is refused when it is given, and nothing is stored', async () => {
  const refused = await connect('sk_00');
  expect([refused.status, refused.text('code')]).toEqual([409, 'credential_invalid']);
  const list = await service.call('GET', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
  });
  expect(list.at('data')).toEqual([]);
});

test('the real key is probed and kept', async () => {
  const made = await connect(medusa.secretKey);
  expect(made.status).toBe(201);
  expect(made.at('state')).toBe('active');
  credentialId = made.text('credentialId');
  const server = await service.call('POST', '/api/servers', {
    headers: { 'x-svc-userid': userId },
    body: { name: 'shop', restrictions: { connectors: { allowedIds: ['medusa'] } } },
  });
  accessUrl = server.text('accessUrl');
});

test('REST reads a list to its end, each record once', async () => {
  const seen = new Set<unknown>();
  let offset: number | undefined = 0;
  let calls = 0;
  while (offset !== undefined) {
    const page = await execute('list_customers', { limit: 10, offset });
    for (let n = 0; page.at(`data.${n}`) !== undefined; n++) seen.add(page.at(`data.${n}.id`));
    offset = page.at('pagination.hasMore') === true ? Number(page.at('pagination.nextOffset')) : undefined;
    calls++;
  }
  expect(seen.size).toBe(medusa.customers);
  expect(calls).toBe(3);
});

test('MCP reads the same list to its end, and writes', async () => {
  const client = await connectClient(accessUrl);
  try {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('medusa_list_customers');
    const seen = new Set<string>();
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const answer = await client.callTool({
        name: 'medusa_list_customers',
        arguments: { limit: 7, offset },
      });
      const { data, pagination } = customerPage.parse(answer.structuredContent);
      for (const { id } of data) seen.add(id);
      offset = pagination.nextOffset;
    }
    expect(seen.size).toBe(medusa.customers);

    const made = await client.callTool({
      name: 'medusa_create_customer',
      arguments: { email: 'agent@example.test', first_name: 'Agent' },
    });
    expect(made.isError).toBeUndefined();
    expect(made.structuredContent).toMatchObject({ data: { email: 'agent@example.test' } });
  } finally {
    await client.close();
  }
});

test('REST sees and changes what MCP wrote', async () => {
  const found = await execute('list_customers', { email: 'agent@example.test' });
  const changed = await execute('update_customer', {
    customerId: found.text('data.0.id'),
    last_name: 'Smith',
  });
  expect(changed.at('data.last_name')).toBe('Smith');
  const gone = await execute('delete_customer', { customerId: found.text('data.0.id') });
  expect(gone.at('data.deleted')).toBe(true);
});

test('what the third party refuses is told in its own words', async () => {
  const taken = await execute('create_customer', { email: 'customer0@example.test' });
  expect([taken.status, taken.text('code')]).toEqual([422, 'upstream_rejected']);
  expect(taken.text('error')).toContain('already exists');
  const absent = await execute('get_order', { orderId: 'order_none' });
  expect([absent.status, absent.at('details.status')]).toEqual([422, 404]);
});

test('a key that is revoked there in the middle needs to be renewed here', async () => {
  await medusa.revokeKey();
  const refused = await execute('list_customers', {});
  expect([refused.status, refused.text('code')]).toEqual([409, 'credential_invalid']);
  const read = await service.call('GET', `/users/${userId}/credentials/${credentialId}`, {
    headers: { 'x-svc-userid': userId },
  });
  expect(read.at('state')).toBe('needs_reconnect');
  expect(JSON.stringify(read.body) + refused.text('error')).not.toContain(medusa.secretKey);
});

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() =>
        address && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}
