import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseJson, valueAt, type Json, type JsonObject } from '../../src/lib/json.ts';
import { runBridge } from '../../src/mcp/transport/bridge.ts';
import { runStdio } from '../../src/mcp/transport/stdio.ts';
import { shop } from '../support/mcp.ts';
import { modernParams } from '../support/modern.ts';
import { startService, type Service } from '../support/service.ts';
import { TAKES_TASKS } from '../support/tasks.ts';

/*
 * MCP with one JSON-RPC message a line: directly from the store, and over the bridge to an address.
 */
const META = 'io.modelcontextprotocol/';
let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
beforeAll(async () => {
  service = await startService({ env: { GATEHOUSE_TEST_CONNECTORS: '1' } });
  one = await shop(service, {
    toolMode: 'direct',
    codeMode: 'off',
    restrictions: { connectors: { allowedIds: ['sandbox', 'everything'] } },
  });
});
afterAll(() => service.stop());

describe.each(['from the store', 'over the bridge'])('%s', (way) => {
  const start = () => talk(way);

  test('discovery, lists and calls of MCP 2026-07-28 work over stdio', async () => {
    await using line = start();
    const found = await line.ask('server/discover', modernParams({}));
    expect(valueAt(found, 'result.resultType')).toBe('complete');
    const called = await line.ask(
      'tools/call',
      modernParams({ name: 'sandbox_list_customers', arguments: { limit: 1 } }),
    );
    expect(valueAt(called, 'result.structuredContent.data')).toHaveLength(1);
    const wrong = await line.ask('ping', modernParams({}));
    expect(valueAt(wrong, 'error.code')).toBe(-32601);
    const old = await line.ask(
      'tools/list',
      modernParams({}, { meta: { [`${META}protocolVersion`]: '2099-01-01' } }),
    );
    expect([valueAt(old, 'error.code'), valueAt(old, 'error.data.requested')]).toEqual([
      -32022,
      '2099-01-01',
    ]);
  });

  test('a program does not run where programs are not listed', async () => {
    await using line = start();
    const program = { name: 'run_code_svc', arguments: { code: 'return 7 * 6' } };
    const refused = await line.ask('tools/call', modernParams(program));
    expect(valueAt(refused, 'error.code')).toBe(-32602);
  });

  test('a call over stdio that takes long becomes a task in MCP 2026-07-28', async () => {
    await using line = start();
    const ask = (method: string, params: JsonObject) =>
      line.ask(method, modernParams(params, { capabilities: TAKES_TASKS }));
    const called = await ask('tools/call', { name: 'slow_compute', arguments: { seconds: 0.7 } });
    const taskId = valueAt(called, 'result.taskId') ?? null;
    expect(valueAt(called, 'result.resultType')).toBe('task');
    await expect
      .poll(async () => valueAt(await ask('tasks/get', { taskId }), 'result.status'), { timeout: 10_000 })
      .toBe('completed');
  });

  test('a subscription over stdio reports changes until it is cancelled', async () => {
    await using line = start();
    const streams: ServerResponse[] = [];
    service.app.server.on('request', ({ headers }: IncomingMessage, res: ServerResponse) => {
      if (headers['mcp-method'] === 'subscriptions/listen') streams.push(res);
    });
    line.send({
      jsonrpc: '2.0',
      id: 'sub',
      method: 'subscriptions/listen',
      params: modernParams({ notifications: { toolsListChanged: true } }),
    });
    const method = (name: string) => (message: Json) => valueAt(message, 'method') === name;
    const acknowledged = await line.next(method('notifications/subscriptions/acknowledged'));
    expect(valueAt(acknowledged, 'params._meta')).toEqual({ [`${META}subscriptionId`]: 'sub' });
    const trigger = () =>
      line.ask('tools/call', modernParams({ name: 'test_trigger_tool_change', arguments: {} }));
    await trigger();
    const changed = method('notifications/tools/list_changed');
    await line.next(changed);
    line.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'sub' } });
    // The bridge closes its stream at the service.
    await expect.poll(() => streams.every(({ closed }) => closed)).toBe(true);
    await trigger();
    await line.ask('server/discover', modernParams({}));
    expect(streams).toHaveLength(way === 'over the bridge' ? 1 : 0);
    expect(line.heard.filter(changed)).toHaveLength(1);
  });

  test('a call over stdio after initialize can ask questions and send log messages', async () => {
    await using line = start();
    await line.ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: {} },
      clientInfo: { name: 't', version: '1' },
    });
    line.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const answer = line.ask('tools/call', { name: 'test_elicitation', arguments: { message: 'Who?' } });
    const asked = await line.next((message) => valueAt(message, 'method') === 'elicitation/create');
    expect(valueAt(asked, 'params.message')).toBe('Everything asks: Who?');
    line.send({
      jsonrpc: '2.0',
      id: valueAt(asked, 'id'),
      result: { action: 'accept', content: { response: 'me' } },
    });
    expect(valueAt(await answer, 'result.content.0.text')).toContain('{"response":"me"}');

    await line.ask('logging/setLevel', { level: 'error' });
    await line.ask('tools/call', { name: 'test_tool_with_logging', arguments: {} });
    await line.ask('logging/setLevel', { level: 'info' });
    await line.ask('tools/call', { name: 'test_tool_with_logging', arguments: {} });
    const logs = line.heard.filter((message) => valueAt(message, 'method') === 'notifications/message');
    expect(logs.map((message) => valueAt(message, 'params.logger') ?? 'app')).toEqual([
      'app',
      'app',
      'app',
      'gatehouse',
    ]);
  });

  test('a request over stdio without initialize is answered', async () => {
    await using line = start();
    const listed = await line.ask('tools/list', {});
    expect(valueAt(listed, 'result.tools.0.name')).toBe('list_connectors_svc');
    const wrong = await line.ask('logging/setLevel', { level: 'loud' });
    expect(valueAt(wrong, 'error.code')).toBe(-32602);
  });

  test('a subscription over stdio without initialize is refused', async () => {
    await using line = start();
    const answer = await line.ask('resources/subscribe', { uri: 'svc://connectors' });
    expect(valueAt(answer, 'error')).toMatchObject({ code: -32600, data: { code: 'invalid_request' } });
  });

  test('a line over stdio that is not JSON gets a parse error', async () => {
    await using line = start();
    line.write('{nothing');
    const answer = await line.next((message) => valueAt(message, 'error.code') === -32700);
    expect(valueAt(answer, 'id')).toBe(null);
  });

  test('the last line over stdio needs no line break', async () => {
    const line = start();
    line.write('{"jsonrpc":"2.0","id":"last","method":"ping"}', '');
    await line[Symbol.asyncDispose]();
    expect(line.heard).toEqual([{ jsonrpc: '2.0', id: 'last', result: {} }]);
  });
});

/** A client’s end of standard input and output. */
function talk(way: string) {
  const input = new PassThrough();
  const output = new PassThrough();
  const wish = { environment: 'development' as const, server: one.serverId, user: one.userId };
  const running =
    way === 'from the store'
      ? runStdio(service.context, wish, { input, output })
      : runBridge({ url: one.accessUrl, headers: {} }, { input, output, report: () => {} });
  const heard: Json[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  output.on('data', (chunk) => {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    heard.push(...lines.map((line) => parseJson(line)));
    for (const look of waiting) look();
  });
  const write = (text: string, end = '\n') => void input.write(`${text}${end}`);
  const send = (message: object) => write(JSON.stringify(message));
  const next = (wanted: (message: Json) => boolean): Promise<Json> =>
    new Promise((resolve) => {
      const look = () => {
        const found = heard.find(wanted);
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  let id = 0;
  return {
    heard,
    write,
    send,
    next,
    ask(method: string, params: object): Promise<Json> {
      const own = ++id;
      send({ jsonrpc: '2.0', id: own, method, params });
      return next((message) => valueAt(message, 'id') === own && valueAt(message, 'method') === undefined);
    },
    async [Symbol.asyncDispose]() {
      input.end();
      await running;
    },
  };
}
