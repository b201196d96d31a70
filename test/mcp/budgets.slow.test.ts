import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { rpc, shop, type RpcAnswer } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

describe.each(STORE_KINDS)('budgets of two processes over %s', (kind) => {
  const clock = manualClock();
  let first: Service;
  let second: Service;
  beforeAll(async () => {
    first = await startService({ kind, clock });
    second = await startService({ env: first.env, clock });
  });
  afterAll(async () => {
    await second.stop();
    await first.stop();
  });

  interface CallOptions {
    service?: Service;
    parameters?: object;
    credentialId?: string;
    confirmationToken?: unknown;
  }
  type Made = Awaited<ReturnType<typeof shop>>;
  const withBudgets = (budgets: object[], more: object = {}) => shop(first, { budgets, ...more });
  const call = (
    one: Made,
    actionId: string,
    { service = first, parameters = {}, ...rest }: CallOptions = {},
  ) =>
    rpc(one.accessUrl.replace(first.url, service.url), 'tools/call', {
      name: 'execute_action_svc',
      arguments: { connectorId: 'sandbox', actionId, parameters, ...rest },
    });
  const read = (one: Made, service = first) => call(one, 'list_products', { service });
  const codeOf = (answer: RpcAnswer) => answer.at('result.structuredContent.error.code') ?? 'ran';

  test('a call beyond the limit is refused with the time when the next one is possible', async () => {
    const one = await withBudgets([{ per: 'server', limit: 2, window: '1h' }]);
    const began = clock.now();
    expect(codeOf(await read(one))).toBe('ran');
    clock.advance(10 * MINUTE);
    expect(codeOf(await read(one, second))).toBe('ran');
    const refused = await read(one);
    const resetAt = new Date(began + HOUR).toISOString();
    expect(refused.at('result.isError')).toBe(true);
    expect(refused.at('result.structuredContent.error')).toMatchObject({
      code: 'budget_exceeded',
      details: { limit: 2, resetAt },
      message: `This MCP server runs at most 2 calls within an hour. The next one is possible at ${resetAt}, in 50 minutes.`,
    });
    expect(refused.at('result.structuredContent.error.details')).toEqual({ limit: 2, resetAt });
    expect(refused.at('result.content.0.text')).toContain(resetAt);
  });

  test('the window of a budget slides', async () => {
    const one = await withBudgets([{ per: 'server', limit: 2, window: '1h' }]);
    await read(one);
    clock.advance(40 * MINUTE);
    await read(one);
    clock.advance(20 * MINUTE);
    // The first call has left the window, the second one has not.
    expect([codeOf(await read(one)), codeOf(await read(one))]).toEqual(['ran', 'budget_exceeded']);
    clock.advance(40 * MINUTE);
    expect(codeOf(await read(one))).toBe('ran');
  });

  test('two processes together run no more calls than the limit', async () => {
    const one = await withBudgets([{ per: 'user', limit: 5, window: '1d' }]);
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) => read(one, at % 2 === 0 ? first : second)),
    );
    expect(answers.map(codeOf).filter((code) => code === 'ran')).toHaveLength(5);
    clock.advance(DAY);
    expect(codeOf(await read(one))).toBe('ran');
  });

  test('refused calls and calls that wait for agreement do not count', async () => {
    const one = await withBudgets([{ per: 'server', limit: 1, window: '1h' }], {
      restrictions: {
        actions: { mode: 'blocklist', blockedActions: ['sandbox.create_order'] },
        confirm: ['destructive'],
      },
    });
    const refusals = [
      await call(one, 'create_order'),
      await call(one, 'get_customer'),
      await call(one, 'list_products', { credentialId: 'crd_none' }),
      await call(one, 'delete_customer', { parameters: { customerId: 'cus_1001' } }),
    ];
    expect(refusals.map(codeOf)).toEqual([
      'restricted',
      'invalid_request',
      'credential_not_found',
      'confirmation_required',
    ]);
    expect([codeOf(await read(one)), codeOf(await read(one))]).toEqual(['ran', 'budget_exceeded']);
  });

  test('the budget is checked after the agreement, whose token is spent', async () => {
    const one = await withBudgets([{ per: 'server', limit: 1, window: '1h' }], {
      restrictions: { confirm: ['destructive'] },
    });
    const remove = (more: object = {}) =>
      call(one, 'delete_customer', { parameters: { customerId: 'cus_1002' }, ...more });
    const asked = await remove();
    const confirmationToken = asked.at('result.structuredContent.error.details.confirmationToken');
    await read(one);
    expect(codeOf(await remove({ confirmationToken }))).toBe('budget_exceeded');
    expect((await remove({ confirmationToken })).at('result.structuredContent.error.code')).not.toBe(
      'budget_exceeded',
    );
  });

  test('a refusal by one budget counts in no other', async () => {
    const one = await withBudgets([
      { per: 'action', limit: 1, window: '1h' },
      { per: 'server', limit: 2, window: '1h' },
    ]);
    const answers = [];
    for (const actionId of ['list_products', 'list_products', 'list_products', 'list_customers'])
      answers.push(codeOf(await call(one, actionId)));
    expect(answers).toEqual(['ran', 'budget_exceeded', 'budget_exceeded', 'ran']);
  });

  test('a budget of an effect counts the calls with that effect only', async () => {
    const one = await withBudgets([{ per: 'connector', effect: 'write', limit: 1, window: '1d' }]);
    const write = (text: string) =>
      call(one, 'send_message', { parameters: { to: 'ada@example.com', text } });
    expect([codeOf(await read(one)), codeOf(await read(one)), codeOf(await write('Hello'))]).toEqual([
      'ran',
      'ran',
      'ran',
    ]);
    const refused = await write('Hello again');
    expect(refused.at('result.structuredContent.error.message')).toContain(
      'at most 1 write call of sandbox within a day',
    );
    expect(codeOf(await read(one))).toBe('ran');
  });

  test('a call that the guard holds does not count', async () => {
    const one = await withBudgets([{ per: 'server', effect: 'write', limit: 2, window: '1d' }]);
    const write = (text: string) =>
      call(one, 'send_message', { parameters: { to: 'ada@example.com', text } });
    const answers = [];
    for (const text of ['Hello', 'Hello', 'Bye', 'Once more', 'Once more'])
      answers.push(codeOf(await write(text)));
    // A refused call does not hold its repetition.
    const refused = 'budget_exceeded';
    expect(answers).toEqual(['ran', 'possible_duplicate', 'ran', refused, refused]);
  });

  test('held repetitions do not count, and refused writes are not held later', async () => {
    const one = await withBudgets([{ per: 'server', limit: 2, window: '1h' }]);
    const send = async (text: string) =>
      codeOf(await call(one, 'send_message', { parameters: { to: 'ada@example.com', text } }));
    const answers = [];
    for (const text of ['one', 'one', 'two', 'three']) answers.push(await send(text));
    expect(answers).toEqual(['ran', 'possible_duplicate', 'ran', 'budget_exceeded']);
    await first.call('PUT', `/api/servers/${one.serverId}`, { body: { budgets: [] } });
    expect(await send('three')).toBe('ran');
  });

  test('a budget per user counts each user', async () => {
    const one = await withBudgets([{ per: 'user', limit: 1, window: '1h' }]);
    const other = await shop(first);
    const as = (userId: string) =>
      rpc(
        one.accessUrl,
        'tools/call',
        {
          name: 'execute_action_svc',
          arguments: { connectorId: 'sandbox', actionId: 'list_products', parameters: {} },
        },
        { headers: { 'x-svc-userid': userId } },
      );
    expect(codeOf(await as(one.userId))).toBe('ran');
    expect(codeOf(await as(one.userId))).toBe('budget_exceeded');
    expect(codeOf(await as(other.userId))).toBe('ran');
  });

  test('a larger limit applies to the calls that were counted before', async () => {
    const one = await withBudgets([{ per: 'server', limit: 1, window: '1h' }]);
    await read(one);
    const changed = await first.call('PUT', `/api/servers/${one.serverId}`, {
      body: { budgets: [{ per: 'server', limit: 2, window: '1h' }] },
    });
    expect(changed.at('budgets')).toEqual([{ per: 'server', limit: 2, window: '1h' }]);
    expect([codeOf(await read(one)), codeOf(await read(one))]).toEqual(['ran', 'budget_exceeded']);
    await first.call('PUT', `/api/servers/${one.serverId}`, { body: { budgets: [] } });
    expect(codeOf(await read(one))).toBe('ran');
  });

  test('a refusal is a denied execution', async () => {
    const one = await withBudgets([{ per: 'server', limit: 1, window: '1h' }]);
    await read(one);
    await read(one);
    const denied = async () =>
      (await first.call('GET', `/api/executions?serverId=${one.serverId}&outcome=denied`)).at('data');
    await expect.poll(denied).toMatchObject([{ errorCode: 'budget_exceeded', actionId: 'list_products' }]);
  });
});

test('budgets that cannot be counted are refused with their place', async () => {
  const service = await startService();
  try {
    const create = (budgets: object[]) =>
      service.call('POST', '/api/servers', { body: { name: 'limited', budgets } });
    const good = { per: 'server', limit: 5, window: '1h' };
    for (const [budgets, field] of [
      [[{ ...good, limit: 0 }], 'budgets.0.limit'],
      [[{ ...good, window: '1w' }], 'budgets.0.window'],
      [[{ ...good, per: 'account' }], 'budgets.0.per'],
      [[good, { ...good, limit: 6 }], 'budgets.1'],
    ] as const) {
      const refused = await create([...budgets]);
      expect([refused.status, refused.at('details.faults.0.field')]).toEqual([400, field]);
    }
    const made = await create([good, { ...good, effect: 'write' }]);
    expect(made.at('budgets')).toEqual([good, { ...good, effect: 'write' }]);
  } finally {
    await service.stop();
  }
});
