import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { isJsonObject } from '../../src/lib/json.ts';
import { until } from '../support/until.ts';
import { startWorkflows, type WorkflowService } from '../support/workflows.ts';

/** Tests of each starter on the sandbox: its events, its schedule or its call, and its steps. */

let service: WorkflowService;
beforeAll(async () => {
  service = await startWorkflows({ env: { GATEHOUSE_POLL_INTERVAL: '1' } });
});
afterAll(() => service.stop());

const seen = new Set<string>();

/** Creates a workflow from a starter and installs it. */
async function begin(starterId: string, config: JsonObject = {}) {
  seen.add(starterId);
  const made = await service.call('POST', `/workflow-starters/${starterId}`);
  expect([starterId, made.status]).toEqual([starterId, 201]);
  const workflowId = made.text('workflowId');
  const installed = await service.install(workflowId, config);
  expect([starterId, installed.status]).toEqual([starterId, 201]);
  return { workflowId, installed };
}

/** Returns the only run of a workflow after it has ended. */
async function onlyRun(workflowId: string) {
  let runId = '';
  await until(async () => {
    const listed = await service.call('GET', `/workflows/${workflowId}/runs`);
    runId = String(listed.at('data.0.runId') ?? '');
    return runId !== '';
  });
  const run = await service.ended(workflowId, runId);
  expect(run.body).toMatchObject({ status: 'succeeded' });
  return run;
}

async function sourceReady(scope: string): Promise<void> {
  await until(async () => {
    const row = await service.context.db
      .selectFrom('sources')
      .selectAll()
      .where('scope', '=', scope)
      .executeTakeFirst();
    return row?.kind === 'native' ? row.hook_state === 'registered' : row?.cursor_until !== null;
  });
}

const order = { customerId: 'cus_1001', lines: [{ productId: 'prd_101', quantity: 2 }] };

const textOf = (value: Json, member: string): string => (isJsonObject(value) ? String(value[member]) : '');

test('the starter "new order → message" sends a message for a new order', async () => {
  const { workflowId } = await begin('new-order-message', { recipient: 'sales@example.com' });
  await sourceReady('commerce/orders');
  const placed = await service.act('create_order', order);
  const run = await onlyRun(workflowId);
  expect(run.at('triggerValue.data.remoteId')).toBe(textOf(placed, 'id'));
  expect(await service.act('list_messages', { limit: 1 })).toMatchObject([
    { to: 'sales@example.com', subject: `New order ${Number(isJsonObject(placed) && placed['number'])}` },
  ]);
});

test('the starter "new customer → contact" adds a contact for a new customer', async () => {
  const { workflowId } = await begin('new-customer-contact');
  await sourceReady('commerce/customers');
  await service.act('create_customer', { name: 'Grace Hopper', email: 'grace@example.com' });
  const run = await onlyRun(workflowId);
  expect(run.at('steps.1.output.data')).toMatchObject({
    email: 'grace@example.com',
    name: 'Grace Hopper',
    tags: ['customer'],
    created: true,
  });
});

test('the starter "unpaid order → ticket" opens a ticket for an unpaid order', async () => {
  const { workflowId } = await begin('unpaid-order-ticket', { patience: 'PT1S' });
  await sourceReady('commerce/orders');
  const placed = await service.act('create_order', order);
  const run = await onlyRun(workflowId);
  expect(run.at('steps.3.output.data')).toMatchObject({
    title: `Order ${textOf(placed, 'id')} is unpaid`,
    status: 'open',
  });
});

test('the starter "daily sales digest" sends the sales of the days', async () => {
  const { workflowId, installed } = await begin('daily-sales-digest', {
    recipient: 'boss@example.com',
    days: 36_500,
  });
  expect(installed.at('trigger.nextAt')).toEqual(expect.any(String));
  const run = await service.run(workflowId);
  expect(run.body).toMatchObject({ status: 'succeeded' });
  expect(run.at('steps.2.output.data.subject')).toBe('Sales: 50 orders');
  expect(run.at('steps.2.output.data.text')).toMatch(/^50 orders: .*\d EUR/);
});

test('the starter "low stock → message" sends no message without low stock', async () => {
  const { workflowId } = await begin('low-stock-message', {
    recipient: 'stock@example.com',
    threshold: 1000,
  });
  const run = await service.run(workflowId);
  expect(run.at('steps.2.output.data.subject')).toBe('50 products are low');
  await service.call('PUT', `/workflows/${workflowId}/install?userId=${service.userId}`, {
    body: { config: { recipient: 'stock@example.com', threshold: 0 } },
  });
  const products = await service.act('list_products', { limit: 50 });
  const sold = Array.isArray(products) && products.some((one) => isJsonObject(one) && one['stock'] === 0);
  const quiet = await service.run(workflowId);
  expect(quiet.at('steps.2.status')).toBe(sold ? 'succeeded' : 'skipped');
});

test('the starter "call → ticket" makes one ticket of a call', async () => {
  const { workflowId, installed } = await begin('call-ticket', { priority: 'high' });
  const called = await fetch(installed.text('hookUrl'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'call one' },
    body: JSON.stringify({ from: '+49 30 1234', text: 'The lamp is broken.' }),
  });
  expect(called.status).toBe(202);
  const run = await onlyRun(workflowId);
  expect(run.at('steps.1.output.data')).toMatchObject({
    title: 'Call from +49 30 1234',
    body: 'The lamp is broken.',
    priority: 'high',
  });
});

test('each starter was run', async () => {
  const listed = await service.call('GET', '/workflow-starters');
  const all = listed.at('data');
  expect(Array.isArray(all) && all.map((one) => textOf(one, 'starterId'))).toEqual([...seen].sort());
  expect(seen.size).toBe(6);
});

test('the apps of a starter are roles that configuration gives to other apps', async () => {
  const roles = {
    messenger: {
      connectorId: 'slack',
      actionId: 'send_message',
      input: { channel: '=config.recipient', text: '=steps.note.data.text' },
    },
  };
  const made = await service.call('POST', '/workflow-starters/new-order-message', {
    body: { name: 'orders to chat', roles },
  });
  expect([made.status, made.at('connectors')]).toEqual([201, ['sandbox', 'slack']]);
  const wrong = await service.call('POST', '/workflow-starters/new-order-message', {
    body: { name: 'orders to nobody', roles: { mailer: { connectorId: 'slack' } } },
  });
  expect([wrong.status, wrong.at('details.faults.0.field')]).toEqual([400, 'roles.mailer']);
});
