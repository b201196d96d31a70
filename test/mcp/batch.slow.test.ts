import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { connectClient, rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

describe.each(STORE_KINDS)('a batch on %s', (kind) => {
  let service: Service;
  let one: Awaited<ReturnType<typeof shop>>;
  beforeAll(async () => {
    service = await startService({ kind, env: { GATEHOUSE_TEST_CONNECTORS: '1' } });
    one = await shop(service);
  });
  afterAll(async () => {
    await service.stop();
  });

  const batch = (calls: object[], url = one.accessUrl) =>
    rpc(url, 'tools/call', { name: 'execute_batch_svc', arguments: { calls } });
  const call = (actionId: string, parameters: object = {}, more: object = {}) => ({
    connectorId: 'sandbox',
    actionId,
    parameters,
    ...more,
  });

  test('each call has its own result or error, in the order of the calls', async () => {
    const client = await connectClient(one.accessUrl);
    const result = await client.callTool({
      name: 'execute_batch_svc',
      arguments: {
        calls: [
          call('get_customer', { customerId: 'cus_1001' }),
          call('get_customer', {}),
          call('get_customer', { customerId: 'cus_0' }),
          call('fly'),
          call('list_orders', { limit: 2 }, { fields: ['id', 'lines.title', 'nonsense'] }),
        ],
      },
    });
    await client.close();
    expect(result.isError).toBeFalsy();
    expect(result.structuredContent).toMatchObject({
      results: [
        { connectorId: 'sandbox', actionId: 'get_customer', data: { id: 'cus_1001' } },
        { error: { code: 'invalid_request', details: { inputSchema: { required: ['customerId'] } } } },
        { error: { code: 'upstream_rejected', details: { status: 404 } } },
        { error: { code: 'action_not_found' } },
        {
          data: [{ id: 'ord_5001', lines: expect.arrayContaining([{ title: expect.any(String) }]) }, {}],
          pagination: { hasMore: true, nextOffset: 2 },
          unmatchedFields: ['nonsense'],
        },
      ],
    });
  });

  test('calls run at the same time and are recorded separately', async () => {
    const started = performance.now();
    const answer = await batch(Array.from({ length: 10 }, () => call('slow', { milliseconds: 400 })));
    const elapsedMs = performance.now() - started;
    expect(answer.at('result.structuredContent.results.9.error')).toBeUndefined();
    await service.context.executions.flush();
    const rows = await service.call('GET', `/api/executions?serverId=${one.serverId}&actionId=slow`);
    const durations = z
      .array(z.object({ durationMs: z.number() }))
      .length(10)
      .parse(rows.at('data'));
    // One after the other they would take the sum of their times.
    expect(elapsedMs).toBeLessThan(durations.reduce((sum, { durationMs }) => sum + durationMs, 0));
  });

  test('a batch reports progress as the number of finished calls', async () => {
    const answer = await rpc(one.accessUrl, 'tools/call', {
      name: 'execute_batch_svc',
      arguments: { calls: [call('get_product', { productId: 'prd_101' }), call('list_products')] },
      _meta: { progressToken: 'p' },
    });
    expect(answer.messages.slice(0, -1)).toMatchObject([
      { method: 'notifications/progress', params: { progress: 1, total: 2 } },
      { method: 'notifications/progress', params: { progress: 2, total: 2 } },
    ]);
  });

  test('a batch accepts one to ten calls and checks the restrictions of each', async () => {
    expect((await batch([])).at('result.structuredContent.error.code')).toBe('invalid_request');
    const eleven = Array.from({ length: 11 }, () => call('list_products'));
    expect((await batch(eleven)).at('result.structuredContent.error.code')).toBe('invalid_request');
    const narrow = await shop(service, { restrictions: { actions: { blockedActions: ['*.delete_*'] } } });
    const answer = await batch(
      [call('delete_customer', { customerId: 'cus_1001' }), call('list_products', { limit: 1 })],
      narrow.accessUrl,
    );
    expect(answer.at('result.structuredContent.results')).toMatchObject([
      { error: { code: 'restricted', details: { rule: 'actions.blockedActions' } } },
      { data: [{}] },
    ]);
  });

  test('a call without an account gets its own link', async () => {
    const stranger = await service.call('POST', '/users', { body: { username: 'stranger' } });
    const server = await service.call('POST', '/api/servers', {
      headers: { 'x-svc-userid': stranger.text('userId') },
      body: { name: 'strange' },
    });
    const answer = await batch([call('list_products'), call('list_orders')], server.text('accessUrl'));
    expect(answer.at('result.structuredContent.results')).toMatchObject([
      {
        error: {
          code: 'credential_required',
          details: { connectUrl: expect.stringContaining('/connect/s/') },
        },
      },
      {
        error: {
          code: 'credential_required',
          details: { connectUrl: expect.stringContaining('/connect/s/') },
        },
      },
    ]);
  });

  test('all answers together stay within the inline limit', async () => {
    const calls = Array.from({ length: 10 }, () => call('list_orders', { limit: 50 }));
    const answer = await batch(calls);
    const text = String(answer.at('result.content.0.text'));
    expect(Buffer.byteLength(text)).toBeLessThan(66_000);
    expect(answer.at('result.structuredContent.results.0.result.uri')).toMatch(/^svc:\/\/results\//);
  });

  test('REST: a batch is checked, repeated and recorded like single calls', async () => {
    const send = (calls: object[], headers: Record<string, string> = {}) =>
      service.call('POST', '/actions/execute', {
        headers: { 'x-svc-userid': one.userId, ...headers },
        body: { calls },
      });
    const order = {
      connectorId: 'sandbox',
      actionId: 'create_ticket',
      input: { title: 'Late', body: 'Where is it?' },
      idempotencyKey: 'batch-1',
    };
    const first = await send([order, { connectorId: 'sandbox', actionId: 'get_customer', input: {} }]);
    expect(first.status).toBe(200);
    expect(first.at('results')).toMatchObject([
      { actionId: 'create_ticket', status: 200, data: { id: expect.any(String) } },
      { actionId: 'get_customer', status: 400, code: 'invalid_request', error: expect.any(String) },
    ]);
    const again = await send([{ ...order, fields: ['id'] }]);
    expect(again.at('results.0')).toEqual({
      connectorId: 'sandbox',
      actionId: 'create_ticket',
      status: 200,
      data: { id: first.at('results.0.data.id') },
      replayed: true,
    });
    expect((await send([{ ...order, input: { title: 'Other', body: 'x' } }])).at('results.0')).toMatchObject({
      status: 409,
      code: 'idempotency_conflict',
    });
    expect((await send([order], { 'idempotency-key': 'whole' })).status).toBe(400);
    expect((await send([])).status).toBe(400);
  });

  test('REST: a single call returns only the requested fields', async () => {
    const answer = await service.call('POST', '/connectors/sandbox/actions/list_orders/execute', {
      headers: { 'x-svc-userid': one.userId },
      body: { input: { limit: 1 }, fields: ['lines.quantity', 'customer.name'] },
    });
    expect(answer.body).toEqual({
      data: [{ lines: expect.arrayContaining([{ quantity: expect.any(Number) }]) }],
      pagination: { hasMore: true, nextOffset: 1 },
      unmatchedFields: ['customer.name'],
    });
    const wrong = await service.call('POST', '/connectors/sandbox/actions/list_orders/execute', {
      headers: { 'x-svc-userid': one.userId },
      body: { fields: ['a..b'] },
    });
    expect(wrong.at('details.faults.0')).toEqual({
      field: 'fields.0',
      rule: 'must be a path such as customer.email',
    });
  });

  test('a call that needs agreement runs with its own token', async () => {
    const careful = await shop(service, { restrictions: { confirm: ['destructive'] } });
    const calls = ['cus_1001', 'cus_1002'].map((customerId) => call('delete_customer', { customerId }));
    const read = call('get_customer', { customerId: 'cus_1003' });
    const asked = await batch([...calls, read], careful.accessUrl);
    expect(asked.at('result.structuredContent.results')).toMatchObject([
      { error: { code: 'confirmation_required' } },
      { error: { code: 'confirmation_required' } },
      { data: { id: 'cus_1003' } },
    ]);
    const tokenOf = (at: number) =>
      asked.at(`result.structuredContent.results.${at}.error.details.confirmationToken`);
    const swapped = calls.map((one, at) => ({ ...one, confirmationToken: tokenOf(1 - at) }));
    const refused = await batch(swapped, careful.accessUrl);
    expect(refused.at('result.structuredContent.results.0.error.details.reason')).toBe('altered');
    const agreed = calls.map((one, at) => ({ ...one, confirmationToken: tokenOf(at) }));
    const done = await batch(agreed, careful.accessUrl);
    expect(done.at('result.structuredContent.results')).toMatchObject([{ data: {} }, { data: {} }]);
  });

  test('the content of an app is not changed, and has no fields to select', async () => {
    const say = (more: object) => ({ connectorId: 'everything', actionId: 'test_simple_text', ...more });
    const answer = await batch([say({}), say({ fields: ['text'] })]);
    expect(answer.at('result.structuredContent.results')).toMatchObject([
      { actionId: 'test_simple_text', content: [{ type: 'text', text: expect.any(String) }] },
      { error: { code: 'invalid_request', details: { faults: [{ field: 'fields' }] } } },
    ]);
  });
});
