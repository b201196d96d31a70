import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Json } from '../../src/lib/json.ts';
import type { Answer } from '../support/service.ts';
import { manual, message, startWorkflows, type WorkflowService } from '../support/workflows.ts';

/* Lists that are read by cursor return each record once, in the order of the list. */

const MANY = 7;

let service: WorkflowService;
/** Values of the placeholders in the paths of LISTS. */
const ids = new Map<string, string>();

beforeAll(async () => {
  service = await startWorkflows({ env: { GATEHOUSE_SANDBOX: '1' } });
  const definition = manual([message('a', 'hello')]);
  const workflowId = await service.define(definition);
  ids.set(':workflowId', workflowId).set(':userId', service.userId);
  for (let at = 0; at < MANY; at++) {
    await service.define(definition, `further ${at}`);
    await service.publish(workflowId, definition);
    const user = await service.newUser(`user${at}`);
    await made('POST', `/workflows/${workflowId}/install?userId=${user.userId}`, { config: {} });
    await made('POST', `/workflows/${workflowId}/run?userId=${user.userId}`, {});
    const { credentialId: connectionId } = user;
    const fields = { scope: 'commerce/orders', connectionId, fields: { at: String(at) } };
    await made('PUT', '/api/field-mappings', fields);
    await connectAnother(at);
    ids.set(':subscriptionId', await subscribe(connectionId));
    await service.act('list_orders');
  }
  for (let at = 0; at < MANY; at++) await made('POST', `/webhooks/${ids.get(':subscriptionId')}/test`);
});
afterAll(() => service.stop());

async function made(method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await service.call(method, path, {
    headers: asUser(path),
    ...(body === undefined ? {} : { body }),
  });
  if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer;
}

/** Only the list of credentials needs x-svc-userid. */
function asUser(path: string): Record<string, string> {
  return path.includes('credentials') ? { 'x-svc-userid': service.userId } : {};
}

function connectAnother(at: number): Promise<Answer> {
  const data = { apiKey: `sandbox_another${at}` };
  return made('POST', `/users/${service.userId}/credentials`, {
    connectorId: 'sandbox',
    type: 'api_key',
    data,
  });
}

async function subscribe(connectionId: string): Promise<string> {
  const answer = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: { address: 'https://127.0.0.1:1/', scope: 'commerce/orders' },
  });
  return answer.text('subscriptionId');
}

const LISTS = [
  '/api/audit',
  '/api/executions',
  '/api/field-mappings',
  '/runs',
  '/users',
  '/users/:userId/credentials',
  '/2023-03/one/webhooks',
  '/webhooks/:subscriptionId/deliveries',
  '/workflows',
  '/workflows/:workflowId/installations',
  '/workflows/:workflowId/runs',
  '/workflows/:workflowId/versions',
];

function pageOf(list: string, query: string): Promise<Answer> {
  const path = list.replace(/:\w+/, (name) => ids.get(name) ?? name);
  return service.call('GET', `${path}?${query}`, { headers: asUser(path) });
}

/**
 * Returns the ids of a page’s records: the first member of each. Other members of a delivery change at each
 * attempt.
 */
function idsOf(page: Answer): Json[] {
  const records = page.at('data');
  return Array.isArray(records) ? records.map((record) => Object.values(record ?? {})[0] ?? null) : [];
}

test.each(LISTS)('%s returns each record once by cursor', async (list) => {
  const all = idsOf(await pageOf(list, ''));
  expect(new Set(all).size).toBe(all.length);
  expect(all.length).toBeGreaterThanOrEqual(MANY);
  const found: Json[] = [];
  let query = '';
  for (;;) {
    const page = await pageOf(list, `limit=3${query}`);
    expect(page.status).toBe(200);
    found.push(...idsOf(page));
    if (page.at('pagination.hasMore') === false) break;
    expect(page.at('pagination.nextOffset')).toBe(query === '' ? 3 : undefined);
    query = `&cursor=${page.text('pagination.nextCursor')}`;
  }
  expect(found.slice(0, all.length)).toEqual(all);
  expect(new Set(found).size).toBe(found.length);
});

test.each(LISTS)('%s rejects an invalid cursor, and a cursor with an offset', async (list) => {
  const cursor = (await pageOf(list, 'limit=1')).text('pagination.nextCursor');
  for (const query of ['cursor=zzz', 'cursor=WzEsIlx1MDAwMCJd', `cursor=${cursor}&offset=1`]) {
    const answer = await pageOf(list, query);
    expect([answer.status, answer.text('code')]).toEqual([400, 'invalid_request']);
  }
});

test.each(LISTS)('%s takes a blank cursor for none', async (list) => {
  const whole = await pageOf(list, 'limit=2&offset=1');
  for (const blank of ['', '%20']) {
    const answer = await pageOf(list, `limit=2&offset=1&cursor=${blank}`);
    expect(idsOf(answer)).toEqual(idsOf(whole));
    expect(answer.at('pagination')).toEqual(whole.at('pagination'));
  }
});

test('the audit log rejects offsets beyond 10,000 and names the cursor', async () => {
  expect((await service.call('GET', '/api/audit?offset=10000')).at('data')).toEqual([]);
  const refused = await service.call('GET', '/api/audit?offset=10001');
  expect(refused.status).toBe(400);
  expect(refused.text('error')).toMatch(/offset.*cursor/);
});
