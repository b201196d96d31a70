import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOUR } from '../../src/lib/clock.ts';
import { valueAt, type Json } from '../../src/lib/json.ts';
import { deleteOldRows } from '../../src/actions/execution-retention.ts';
import { rpc } from '../support/mcp.ts';
import { listenFor, modern } from '../support/modern.ts';
import { startShop, type Shop } from '../support/shop.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { callAsTask, TAKES_TASKS, taskIdOf, taskIn, TASKS, withTasks } from '../support/tasks.ts';

/*
 * The extension Tasks of MCP 2026-07-28: a call that takes long is answered with a task.
 */

describe.each(STORE_KINDS)('%s', (kind) => {
  let aheadMs = 0;
  let app: Shop;
  let url: string;
  let serverId: string;
  beforeAll(async () => {
    const clock = { now: () => Date.now() + aheadMs };
    app = await startShop({ kind, clock, env: { GATEHOUSE_TEST_CONNECTORS: '1' } });
    const created = await app.call('POST', '/api/servers', {
      body: {
        name: 'tasks',
        toolMode: 'direct',
        duplicateGuard: 'off',
        restrictions: { connectors: { allowedIds: ['shop', 'everything'] } },
      },
    });
    url = created.text('accessUrl');
    serverId = created.text('serverId');
  });
  afterAll(async () => app[Symbol.asyncDispose]());

  /** Lets the next calls of the app wait until `release`. */
  const hold = (body: object = { id: 7 }) => {
    const released = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    app.party.answer = () => {
      asked.resolve();
      return { status: 200, body, after: released.promise };
    };
    const release = () => {
      app.party.answer = undefined;
      released.resolve();
    };
    return { asked: asked.promise, release };
  };
  const outcomeOfLast = async (actionId: string) => {
    const { body } = await app.service.call('GET', `/api/executions?actionId=${actionId}&limit=1`);
    return valueAt(body, 'data.0.outcome');
  };
  const compute = (seconds: number, options = {}) => callAsTask(url, 'slow_compute', { seconds }, options);

  test('a call that takes long is answered with a task, and its result is read later', async () => {
    const { release } = hold({ id: 7, label: 'late' });
    const answer = await callAsTask(url, 'shop_get_thing', { thingId: '7' });
    const taskId = taskIdOf(answer);
    expect(answer.at('result')).toEqual({
      resultType: 'task',
      taskId,
      status: 'working',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      lastUpdatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      ttlMs: HOUR,
      pollIntervalMs: 1000,
      _meta: expect.anything(),
    });
    const working = await withTasks(url, 'tasks/get', { taskId });
    expect(working.at('result')).toMatchObject({ resultType: 'complete', taskId, status: 'working' });
    expect(working.at('result.result')).toBeUndefined();
    release();
    const done = await taskIn(url, taskId, 'completed');
    expect(done.at('result.result')).toMatchObject({
      resultType: 'complete',
      content: [{ type: 'text' }],
      structuredContent: { data: { id: 7, label: 'late' } },
    });
    await expect.poll(() => outcomeOfLast('get_thing')).toBe('succeeded');
  });

  test('a call that ends soon is answered with its result', async () => {
    const answer = await callAsTask(url, 'shop_get_thing', { thingId: '1' });
    expect(answer.at('result')).toMatchObject({
      resultType: 'complete',
      structuredContent: { data: { id: '1' } },
    });
  });

  test('a client without the extension waits for its result and cannot read tasks', async () => {
    const answer = await modern(url, 'tools/call', { name: 'slow_compute', arguments: { seconds: 0.7 } });
    expect(answer.at('result')).toMatchObject({ resultType: 'complete', content: [{ type: 'text' }] });
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const refused = await modern(url, method, { taskId: 'task_1', inputResponses: {} });
      expect([refused.status, refused.at('error.code')]).toEqual([400, -32021]);
      expect(refused.at('error.data.requiredCapabilities')).toEqual({ extensions: { [TASKS]: {} } });
    }
    const older = await rpc(url, 'tasks/get', { taskId: 'task_1' });
    expect(older.at('error.code')).toBe(-32601);
    const opened = await rpc(url, 'initialize', { protocolVersion: '2025-11-25' });
    expect(opened.at('result.capabilities.extensions')).toBeUndefined();
  });

  test('an action that is only a task is refused to clients without the extension', async () => {
    const refused = await modern(url, 'tools/call', { name: 'failing_job', arguments: {} });
    expect([refused.status, refused.at('error.code')]).toEqual([400, -32021]);
    const bare = await rpc(url, 'tools/call', { name: 'failing_job', arguments: {} });
    expect(bare.at('result.structuredContent.error.code')).toBe('client_capability_missing');
    const task = await callAsTask(url, 'failing_job');
    const done = await taskIn(url, taskIdOf(task), 'completed');
    expect(done.at('result.result.isError')).toBe(true);
  });

  test('an error of the protocol fails the task', async () => {
    const taskId = taskIdOf(await callAsTask(url, 'protocol_error_job'));
    const done = await taskIn(url, taskId, 'failed');
    expect(done.at('result.error')).toMatchObject({ code: -32021, message: expect.any(String) });
    expect(done.at('result.statusMessage')).toBe(done.at('result.error.message'));
    expect(done.at('result.result')).toBeUndefined();
  });

  test('the task of another user, server or caller is unknown, in the same words', async () => {
    const taskId = taskIdOf(await compute(0.8));
    const other = await app.call('POST', '/api/servers', { body: { name: 'other' } });
    const user = await app.service.call('POST', '/users', { body: { username: `eve ${kind}` } });
    const { url: address } = app.service;
    const bearer = { authorization: `Bearer ${app.service.developmentKey}` };
    const places: [string, Record<string, string>][] = [
      [other.text('accessUrl'), {}],
      [`${address}/mcp/${serverId}`, { ...bearer, 'x-svc-userid': app.userId }],
      [`${address}/mcp/${serverId}`, { ...bearer, 'x-svc-userid': user.text('userId') }],
    ];
    const wordsOf = async (place: string, id: string, headers = {}) => {
      const answers = await Promise.all(
        ['tasks/get', 'tasks/cancel', 'tasks/update'].map((method) =>
          withTasks(place, method, { taskId: id, inputResponses: {} }, { headers }),
        ),
      );
      return answers.map((answer) => [
        answer.status,
        answer.at('error.code'),
        String(answer.at('error.message')).replace(id, '…'),
        answer.at('error.data.code'),
      ]);
    };
    const unknown = await wordsOf(url, 'task_0000000000000000000000');
    expect(unknown[0]?.slice(0, 2)).toEqual([200, -32602]);
    for (const [place, headers] of places) expect(await wordsOf(place, taskId, headers)).toEqual(unknown);
    await taskIn(url, taskId, 'completed');
  });

  test('questions of a call are answered by tasks/update, one by one', async () => {
    const taskId = taskIdOf(await callAsTask(url, 'multi_input'));
    const asked = await taskIn(url, taskId, 'input_required');
    const requests = Object(asked.at('result.inputRequests'));
    const [first = '', second = ''] = Object.keys(requests);
    expect(requests[first]).toEqual({
      method: 'elicitation/create',
      params: expect.objectContaining({ message: 'Everything asks: What is the first name?' }),
    });
    const update = (key: string, name: string) =>
      withTasks(url, 'tasks/update', {
        taskId,
        inputResponses: { [key]: { action: 'accept', content: { name } }, unknown: { action: 'accept' } },
      });
    const acknowledged = await update(first, 'Ada');
    expect(Object.keys(Object(acknowledged.at('result')))).toEqual(['resultType', '_meta']);
    const rest = await withTasks(url, 'tasks/get', { taskId });
    expect(rest.at('result.status')).toBe('input_required');
    expect(Object.keys(Object(rest.at('result.inputRequests')))).toEqual([second]);
    // An answered question is closed.
    await update(first, 'Eve');
    await update(second, 'Grace');
    const done = await taskIn(url, taskId, 'completed');
    expect(done.at('result.result.content.0.text')).toBe('Names: Ada, Grace');
  });

  test('a question that was asked before the task keeps its answer', async () => {
    const asked = await callAsTask(url, 'test_tool_with_task');
    expect(asked.at('result.resultType')).toBe('input_required');
    const answer = await withTasks(url, 'tools/call', {
      name: 'test_tool_with_task',
      arguments: {},
      inputResponses: { user_name: { action: 'accept', content: { name: 'Ada' } } },
      requestState: asked.at('result.requestState') ?? '',
    });
    const done = await taskIn(url, taskIdOf(answer), 'completed');
    expect(done.at('result.result.content.0.text')).toBe('Hello, Ada!');
  });

  test('a cancelled task ends its call and stays cancelled', async () => {
    const held = hold();
    const taskId = taskIdOf(await callAsTask(url, 'shop_create_thing', { label: 'late' }));
    await held.asked;
    const acknowledged = await withTasks(url, 'tasks/cancel', { taskId });
    expect(acknowledged.at('result')).toEqual({ resultType: 'complete', _meta: expect.anything() });
    const task = await taskIn(url, taskId, 'cancelled');
    expect(task.at('result.statusMessage')).toBe(
      'The call may have taken effect: read the current data before you repeat a write.',
    );
    await expect.poll(() => outcomeOfLast('create_thing')).toBe('failed');
    held.release();
    expect((await withTasks(url, 'tasks/cancel', { taskId })).at('result.resultType')).toBe('complete');
    expect((await withTasks(url, 'tasks/get', { taskId })).at('result.status')).toBe('cancelled');
  });

  test('a listener gets the whole task at each change, and only its own tasks', async () => {
    const taskId = taskIdOf(await callAsTask(url, 'confirm_delete', { filename: 'a.txt' }));
    const filter = { taskIds: [taskId, 'task_0000000000000000000000'] };
    const stream = await listenFor(url, filter, { capabilities: TAKES_TASKS });
    const statuses = () =>
      stream.messages
        .filter((message) => valueAt(message, 'method') === 'notifications/tasks')
        .map((message): Json => valueAt(message, 'params.status') ?? null);
    await expect.poll(() => statuses().at(-1), { timeout: 10_000 }).toBe('input_required');
    expect(valueAt(stream.messages[0] ?? null, 'params.notifications')).toEqual({ taskIds: [taskId] });
    const question = stream.messages.findLast((message) => valueAt(message, 'params.inputRequests'));
    const [key = ''] = Object.keys(Object(valueAt(question ?? null, 'params.inputRequests')));
    const inputResponses = { [key]: { action: 'accept', content: { confirm: true } } };
    await withTasks(url, 'tasks/update', { taskId, inputResponses });
    await expect.poll(() => statuses().at(-1), { timeout: 10_000 }).toBe('completed');
    expect(stream.messages.at(-1)).toMatchObject({
      params: { taskId, result: { content: [{ text: 'Deleted a.txt.' }] } },
    });
    stream.leave();
    const refused = await modern(url, 'subscriptions/listen', { notifications: filter });
    expect([refused.status, refused.at('error.code')]).toEqual([400, -32021]);
  });

  test('a task is gone an hour after its last change, and its row is deleted', async () => {
    const taskId = taskIdOf(await compute(0.6));
    await taskIn(url, taskId, 'completed');
    const stored = () =>
      app.service.context.db.selectFrom('tasks').select('sealed').where('task_id', '=', taskId).execute();
    expect(JSON.stringify(await stored())).not.toContain('took');
    aheadMs += HOUR - 60_000;
    expect((await withTasks(url, 'tasks/get', { taskId })).at('result.status')).toBe('completed');
    aheadMs += 60_000;
    expect((await withTasks(url, 'tasks/get', { taskId })).at('error.code')).toBe(-32602);
    expect(await stored()).toHaveLength(1);
    await deleteOldRows(app.service.context.db, Date.now() + aheadMs);
    expect(await stored()).toEqual([]);
  });

  test('a caller has 20 tasks at once, and further calls are answered when they end', async () => {
    const answers = await Promise.all(Array.from({ length: 23 }, () => compute(2)));
    const kinds = answers.map((answer) => String(answer.at('result.resultType')));
    expect(kinds.filter((one) => one === 'task')).toHaveLength(20);
    expect(kinds.filter((one) => one === 'complete')).toHaveLength(3);
    const tasks = answers.filter((answer) => answer.at('result.resultType') === 'task');
    for (const task of tasks) await taskIn(url, taskIdOf(task), 'completed');
    taskIdOf(await compute(0.6));
  });

  test('a task whose action is denied later is not shown', async () => {
    const taskId = taskIdOf(await compute(0.6));
    await taskIn(url, taskId, 'completed');
    const restrict = (actions: object) =>
      app.call('PUT', `/api/servers/${serverId}`, {
        body: { restrictions: { connectors: { allowedIds: ['shop', 'everything'] }, actions } },
      });
    const denied = await restrict({ blockedActions: ['everything.slow_compute'] });
    expect(denied.status).toBe(200);
    const refused = await withTasks(url, 'tasks/get', { taskId });
    expect(refused.at('error.data.code')).toBe('restricted');
    await restrict({});
    expect((await withTasks(url, 'tasks/get', { taskId })).at('result.status')).toBe('completed');
  });
});
