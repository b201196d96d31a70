import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { valueAt, type Json, type JsonObject } from '../../src/lib/json.ts';
import type { RpcAnswer } from '../support/mcp.ts';
import { modern } from '../support/modern.ts';
import { startRemoteServer, type RemoteServer } from '../support/remote-server.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { callAsTask, taskIdOf, taskIn, withTasks } from '../support/tasks.ts';
import { until } from '../support/until.ts';

const ASKS = { capabilities: { elicitation: { form: {} } } };
const requestedSchema = { type: 'object' as const, properties: { title: { type: 'string' as const } } };

describe.each(STORE_KINDS)('questions of remote servers between requests over %s', (kind) => {
  let service: Service;
  let remote: RemoteServer;
  let url: string;
  let serverId: string;
  /** Answers that the tools of the server got, by call. */
  let got: string[][];
  /** The tool asks its first question after it. */
  let begin: Promise<void>;

  /** Adds a tool that asks a number of questions in one call, one after the other. */
  function addAsking(server: McpServer): void {
    server.registerTool(
      'ask',
      { inputSchema: { times: z.number() }, annotations: { destructiveHint: false } },
      async ({ times }, { sendRequest }) => {
        const answers: string[] = [];
        got.push(answers);
        await begin;
        for (let at = 1; at <= times; at++) {
          const params = { message: `Which note? (${at})`, requestedSchema };
          const asked = await sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema);
          answers.push(String(asked.content?.['title'] ?? asked.action));
        }
        return { content: [{ type: 'text', text: answers.join(', ') }] };
      },
    );
  }

  beforeAll(async () => {
    remote = await startRemoteServer();
    remote.tools = addAsking;
    service = await startService({ kind });
    await service.call('POST', '/api/connectors', {
      body: { mcp: { connectorId: 'curious', url: remote.url } },
    });
    const made = await service.call('POST', '/api/servers', {
      body: {
        name: 'curious',
        toolMode: 'direct',
        duplicateGuard: 'off',
        restrictions: { connectors: { allowedIds: ['curious'] } },
      },
    });
    url = made.text('accessUrl');
    serverId = made.text('serverId');
  });
  afterAll(async () => {
    await service.stop();
    await remote[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    got = [];
    begin = Promise.resolve();
  });

  const ask = (times: number, more: JsonObject = {}, options: object = ASKS) =>
    modern(url, 'tools/call', { name: 'curious_ask', arguments: { times }, ...more }, options);
  const accepted = (title: string): Json => ({ action: 'accept', content: { title } });
  const answered = (times: number, asked: RpcAnswer, title: string) =>
    ask(times, {
      inputResponses: { question: accepted(title) },
      requestState: asked.at('result.requestState') ?? null,
    });
  const isListed = async () => JSON.stringify((await modern(url, 'tools/list')).body).includes('curious_ask');
  const messageOf = (answer: RpcAnswer) => answer.at('result.inputRequests.question.params.message');

  test('questions of remote servers reach the user, and the same call goes on', async () => {
    const first = await ask(2);
    expect([first.at('result.resultType'), messageOf(first)]).toEqual([
      'input_required',
      'curious asks: Which note? (1)',
    ]);
    const second = await answered(2, first, 'shopping');
    expect(messageOf(second)).toBe('curious asks: Which note? (2)');
    const done = await answered(2, second, 'work');
    expect(done.at('result.content.0.text')).toBe('shopping, work');
    expect(done.at('result.resultType')).toBe('complete');
    expect(got).toEqual([['shopping', 'work']]);
    await until(async () => {
      const rows = await service.call('GET', '/api/executions?connectorId=curious');
      return rows.at('data.0.outcome') === 'succeeded';
    });
  });

  test('questions of remote servers are put again without an answer, and taken once', async () => {
    const asked = await ask(1);
    const again = await ask(1, { inputResponses: {}, requestState: asked.at('result.requestState') ?? null });
    expect(messageOf(again)).toBe('curious asks: Which note? (1)');
    const old = await answered(1, asked, 'old');
    expect(old.at('error.data.code')).toBe('request_state_invalid');
    expect((await answered(1, again, 'new')).at('result.content.0.text')).toBe('new');
    expect((await answered(1, again, 'twice')).at('error.data.code')).toBe('request_state_invalid');
    expect(got).toEqual([['new']]);
  });

  test('questions of a long call belong to its task, one after the other', async () => {
    const released = Promise.withResolvers<void>();
    begin = released.promise;
    const taskId = taskIdOf(await callAsTask(url, 'curious_ask', { times: 2 }));
    released.resolve();
    const asked: unknown[] = [];
    for (const title of ['shopping', 'work']) {
      const task = await taskIn(url, taskId, 'input_required');
      const [[key, request] = ['']] = Object.entries(Object(task.at('result.inputRequests')));
      asked.push(Object(request).params.message);
      await withTasks(url, 'tasks/update', { taskId, inputResponses: { [key]: accepted(title) } });
    }
    const done = await taskIn(url, taskId, 'completed');
    expect(done.at('result.result.content.0.text')).toBe('shopping, work');
    expect(asked).toEqual(['curious asks: Which note? (1)', 'curious asks: Which note? (2)']);
  });

  test('questions of remote servers end when their task is cancelled', async () => {
    const released = Promise.withResolvers<void>();
    begin = released.promise;
    const taskId = taskIdOf(await callAsTask(url, 'curious_ask', { times: 1 }));
    released.resolve();
    await taskIn(url, taskId, 'input_required');
    await withTasks(url, 'tasks/cancel', { taskId });
    // The call of the app has ended too, so that nothing waits for an answer any more.
    await expect
      .poll(async () => {
        const { body } = await service.call('GET', '/api/executions?connectorId=curious&limit=1');
        return valueAt(body, 'data.0.outcome');
      })
      .toBe('failed');
  });

  test('questions of two concurrent remote calls do not mix', async () => {
    const [one, two] = await Promise.all([ask(1), ask(1)]);
    const [, second] = [await answered(1, two, 'two'), await answered(1, one, 'one')];
    expect(second.at('result.content.0.text')).toBe('one');
    expect(got.flat().toSorted()).toEqual(['one', 'two']);
  });

  test('questions of remote servers are cancelled for a client without forms', async () => {
    const done = await ask(1, {}, {});
    expect([done.at('result.isError'), got]).toEqual([true, [[]]]);
  });

  test('questions of remote servers end with the right to the action', async () => {
    const asked = await ask(1);
    const restrict = (restrictions: object) =>
      service.call('PUT', `/api/servers/${serverId}`, { body: { restrictions } });
    const connectors = { allowedIds: ['curious'] };
    await restrict({ connectors, actions: { blockedActions: ['curious.ask'] } });
    await until(async () => !(await isListed()));
    const late = await answered(1, asked, 'late');
    expect(late.at('error.data.code')).toBe('restricted');
    expect(got).toEqual([[]]);
    await restrict({ connectors });
    await until(isListed);
  });

  test('questions without end are put ten times, and the eleventh ends the call', async () => {
    let asked = await ask(40);
    let count = 0;
    while (asked.at('result.resultType') === 'input_required') {
      count++;
      asked = await answered(40, asked, 'again');
    }
    expect([count, asked.at('result.isError')]).toEqual([10, true]);
    expect(JSON.stringify(asked.body)).toContain('asked more than 10 questions in one call');
  });

  test('questions that their user ignores are bounded, and other calls still work', async () => {
    const asked = await Promise.all(Array.from({ length: 14 }, () => ask(1)));
    const waiting = asked.filter((answer) => answer.at('result.resultType') === 'input_required');
    expect(waiting.length).toBeLessThanOrEqual(10);
    expect(got.flat().filter((answer) => answer === 'cancel')).toHaveLength(14 - waiting.length);
    const sum = await modern(
      url,
      'tools/call',
      { name: 'curious_add_numbers', arguments: { a: 1, b: 2 } },
      ASKS,
    );
    expect(sum.at('result.content.0.text')).toBe('3');
    for (const one of waiting) await answered(1, one, 'done');
  });
});
