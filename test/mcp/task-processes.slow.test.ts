import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LEASE_MS } from '../../src/runtime/lease.ts';
import { serveUntilKilled, type Served } from '../support/serving.ts';
import { startService, type Service } from '../support/service.ts';
import { startShop, type Shop } from '../support/shop.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { callAsTask, taskIdOf, taskIn, withTasks } from '../support/tasks.ts';

/*
 * Tasks of several processes on one store: any of them answers for a task, and notices the death of the one that runs it.
 */

describe.each(STORE_KINDS)('%s', (kind) => {
  let aheadMs: number;
  let app: Shop;
  let other: Service;
  let path: string;
  beforeEach(async () => {
    aheadMs = 0;
    const env = { GATEHOUSE_TEST_CONNECTORS: '1' };
    app = await startShop({ kind, env });
    const clock = { now: () => Date.now() + aheadMs };
    other = await startService({
      env: { ...app.service.env, ...env },
      catalogFolder: app.catalogFolder,
      clock,
    });
    const created = await app.call('POST', '/api/servers', {
      body: {
        name: 'tasks',
        toolMode: 'direct',
        duplicateGuard: 'off',
        restrictions: { connectors: { allowedIds: ['shop', 'everything'] } },
      },
    });
    path = new URL(created.text('accessUrl')).pathname;
  });
  afterEach(async () => {
    await other.stop();
    await app[Symbol.asyncDispose]();
  });

  /** Makes a call that its app does not answer, in a process that is killed then. Returns the id of its task. */
  const killedDuring = async (
    served: Served,
    name: string,
    args: { thingId: string } | { label: string },
  ) => {
    const asked = Promise.withResolvers<void>();
    app.party.answer = () => {
      asked.resolve();
      return { status: 200, after: new Promise(() => {}) };
    };
    const taskId = taskIdOf(await callAsTask(served.url + path, name, args));
    await asked.promise;
    await served.kill();
    app.party.answer = undefined;
    return taskId;
  };

  test('another process answers the question of a task, and returns its result', async () => {
    const answer = await callAsTask(app.service.url + path, 'confirm_delete', { filename: 'a.txt' });
    const taskId = taskIdOf(answer);
    const asked = await taskIn(other.url + path, taskId, 'input_required');
    const [key = ''] = Object.keys(Object(asked.at('result.inputRequests')));
    await withTasks(other.url + path, 'tasks/update', {
      taskId,
      inputResponses: { [key]: { action: 'accept', content: { confirm: true } } },
    });
    const done = await taskIn(other.url + path, taskId, 'completed');
    expect(done.at('result.result.content.0.text')).toBe('Deleted a.txt.');
  });

  test('a cancellation at another process ends the call', async () => {
    const taskId = taskIdOf(await callAsTask(app.service.url + path, 'slow_compute', { seconds: 60 }));
    await withTasks(other.url + path, 'tasks/cancel', { taskId });
    await expect
      .poll(async () => {
        const { body } = await app.call('GET', '/api/executions?actionId=slow_compute&limit=1');
        return JSON.stringify(body);
      })
      .toContain('"outcome":"failed"');
    await taskIn(other.url + path, taskId, 'cancelled');
  });

  test('the task of a killed process fails, and names an unknown outcome of a write', async () => {
    const serve = () => serveUntilKilled(app.service, app.catalogFolder);
    await using first = await serve();
    const read = await killedDuring(first, 'shop_get_thing', { thingId: '7' });
    await using second = await serve();
    const write = await killedDuring(second, 'shop_create_thing', { label: 'late' });
    const url = other.url + path;
    expect((await withTasks(url, 'tasks/get', { taskId: write })).at('result.status')).toBe('working');
    aheadMs = LEASE_MS + 1000;
    expect((await taskIn(url, write, 'failed')).at('result.error')).toEqual({
      code: -32603,
      message:
        'The process that ran this call ended before it had an answer, so whether the call took effect is unknown. ' +
        'Check the app before you repeat it.',
      data: { code: 'upstream_failed', outcome: 'unknown' },
    });
    expect((await taskIn(url, read, 'failed')).at('result.error')).toEqual({
      code: -32603,
      message:
        'The process that ran this call ended before it had an answer. The call changed nothing, so make it again.',
      data: { code: 'unavailable' },
    });
  });

  test('a process that stops lets working tasks end, and fails those that wait', async () => {
    const stopping = await startService({
      env: { ...app.service.env, GATEHOUSE_TEST_CONNECTORS: '1' },
      catalogFolder: app.catalogFolder,
    });
    const waiting = taskIdOf(await callAsTask(stopping.url + path, 'multi_input'));
    await taskIn(stopping.url + path, waiting, 'input_required');
    const working = taskIdOf(await callAsTask(stopping.url + path, 'slow_compute', { seconds: 2 }));
    await stopping.stop();
    const url = other.url + path;
    const done = await withTasks(url, 'tasks/get', { taskId: working });
    expect(done.at('result.status')).toBe('completed');
    const failed = await withTasks(url, 'tasks/get', { taskId: waiting });
    expect([failed.at('result.status'), failed.at('result.error.data.code')]).toEqual([
      'failed',
      'unavailable',
    ]);
  });
});
