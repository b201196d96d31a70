import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseJson, valueAt, type Json } from '../../src/lib/json.ts';
import { holdAnswer, SLOW } from '../support/held-answers.ts';
import { rpc, shop } from '../support/mcp.ts';
import { modern, modernHeaders, modernParams, VERSION } from '../support/modern.ts';
import { recordReads } from '../support/polls.ts';
import { startService, type Service } from '../support/service.ts';

/*
 * MCP 2026-07-28: stateless, at the same addresses as the other forms.
 */
const META = 'io.modelcontextprotocol/';
let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
beforeAll(async () => {
  service = await startService({ env: { GATEHOUSE_TEST_CONNECTORS: '1' } });
  one = await shop(service, {
    toolMode: 'direct',
    restrictions: { connectors: { allowedIds: ['sandbox', 'everything'] } },
  });
});
afterAll(() => service.stop());

describe('requests', () => {
  test('server/discover returns versions, capabilities and instructions', async () => {
    const answer = await modern(one.accessUrl, 'server/discover');
    expect(answer.status).toBe(200);
    expect(answer.at('result')).toMatchObject({
      resultType: 'complete',
      ttlMs: 60_000,
      cacheScope: 'private',
      supportedVersions: expect.arrayContaining([VERSION, '2025-11-25']),
      capabilities: { tools: { listChanged: true } },
      _meta: { [`${META}serverInfo`]: { name: 'gatehouse' } },
    });
  });

  test('tools/list returns the same list with a cache lifetime', async () => {
    const bare = await rpc(one.accessUrl, 'tools/list');
    const answer = await modern(one.accessUrl, 'tools/list', {}, { id: 7 });
    expect(answer.at('id')).toBe(7);
    expect(answer.at('result')).toMatchObject({
      resultType: 'complete',
      ttlMs: 60_000,
      cacheScope: 'private',
    });
    expect(answer.at('result.tools')).toEqual(bare.at('result.tools'));
  });

  test('tools/call returns complete results, which are not cached', async () => {
    const answer = await call('sandbox_list_customers', { limit: 1 });
    expect(answer.at('result')).toMatchObject({ resultType: 'complete', structuredContent: { data: [{}] } });
    expect(answer.at('result.ttlMs')).toBeUndefined();
  });

  test.each(['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])(
    '%s returns the members that a cache needs',
    async (method) => {
      const answer = await modern(one.accessUrl, method);
      expect(answer.at('result')).toMatchObject({
        resultType: 'complete',
        ttlMs: 60_000,
        cacheScope: 'private',
      });
    },
  );

  test('a leftover session id is ignored', async () => {
    const headers = { 'mcp-session-id': 'of-yesterday' };
    expect((await modern(one.accessUrl, 'tools/list', {}, { headers })).status).toBe(200);
    const older = await rpc(one.accessUrl, 'tools/list', {}, { headers });
    expect([older.status, older.at('error.code'), older.at('id')]).toEqual([404, -32001, 'q1']);
  });

  test('a missing resource is invalid params', async () => {
    const answer = await modern(one.accessUrl, 'resources/read', { uri: 'test://nothing' });
    expect([answer.status, answer.at('error.code'), answer.at('error.data.uri')]).toEqual([
      200,
      -32602,
      'test://nothing',
    ]);
  });

  test.each(['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'unknown/method'])(
    'the method %s is 404 and -32601 in MCP 2026-07-28',
    async (method) => {
      const answer = await modern(one.accessUrl, method);
      expect([answer.status, answer.at('error.code'), answer.at('id')]).toEqual([404, -32601, 'q1']);
    },
  );
});

describe('the metadata of a request', () => {
  test.each([
    ['no _meta', {}, -32602],
    ['no version', { _meta: { [`${META}clientCapabilities`]: {} } }, -32602],
    ['no capabilities', { _meta: { [`${META}protocolVersion`]: VERSION } }, -32602],
    [
      'capabilities that are a list',
      { _meta: { [`${META}protocolVersion`]: VERSION, [`${META}clientCapabilities`]: [] } },
      -32602,
    ],
    ['a level of logs that is none', modernParams({}, { meta: { [`${META}logLevel`]: 'loud' } }), -32602],
  ])('a request of MCP 2026-07-28 with %s is 400', async (_what, params, code) => {
    const answer = await rpc(one.accessUrl, 'tools/list', params, {
      headers: modernHeaders('tools/list', {}),
    });
    expect([answer.status, answer.at('error.code'), answer.at('id')]).toEqual([400, code, 'q1']);
  });

  test.each([
    ['version', { 'mcp-protocol-version': '2027-01-01' }],
    ['method', { 'mcp-method': 'tools/list' }],
    ['name', { 'mcp-name': 'another' }],
    ['name in broken Base64', { 'mcp-name': '=?base64?%%%?=' }],
  ])('a header with another %s is 400 and -32020', async (_what, headers) => {
    const answer = await call('list_connectors_svc', {}, { headers });
    expect([answer.status, answer.at('error.code')]).toEqual([400, -32020]);
  });

  test('missing headers are 400 and -32020', async () => {
    for (const missing of ['mcp-protocol-version', 'mcp-method', 'mcp-name']) {
      const headers = modernHeaders('tools/call', { name: 'list_connectors_svc' });
      delete headers[missing];
      const params = modernParams({ name: 'list_connectors_svc', arguments: {} });
      const answer = await rpc(one.accessUrl, 'tools/call', params, { headers });
      expect([missing, answer.status, answer.at('error.code')]).toEqual([missing, 400, -32020]);
    }
  });

  test('a name in Base64 is read', async () => {
    const encoded = `=?base64?${Buffer.from('list_connectors_svc').toString('base64')}?=`;
    const answer = await call('list_connectors_svc', {}, { headers: { 'mcp-name': encoded } });
    expect(answer.status).toBe(200);
  });

  test('another version is 400 and -32022, with the supported versions', async () => {
    const answer = await modern(
      one.accessUrl,
      'tools/list',
      {},
      {
        headers: { 'mcp-protocol-version': '2099-01-01' },
        meta: { [`${META}protocolVersion`]: '2099-01-01' },
      },
    );
    expect([answer.status, answer.at('error.code')]).toEqual([400, -32022]);
    expect(answer.at('error.data')).toMatchObject({
      requested: '2099-01-01',
      supported: expect.arrayContaining([VERSION]),
    });
  });
});

describe('questions to the client', () => {
  const asks = { capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } };
  const name = 'test_input_required_result_elicitation';
  const accepted = (content: object) => ({ action: 'accept', content }) as Json;

  test('a question to the client is a result, and the call with its answer completes', async () => {
    const asked = await call(name, {}, asks);
    expect(asked.at('result')).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        user_name: {
          method: 'elicitation/create',
          params: { message: 'Everything asks: What is your name?' },
        },
      },
      requestState: expect.any(String),
    });
    const done = await call(name, {}, asks, {
      inputResponses: { user_name: accepted({ name: 'Ada' }) },
      requestState: asked.at('result.requestState') ?? null,
    });
    expect(done.at('result.content.0.text')).toBe('Hello, Ada!');
    expect(done.at('result.resultType')).toBe('complete');
  });

  test('a question to the client is asked again when its answer is missing', async () => {
    const asked = await call(name, {}, asks);
    const again = await call(name, {}, asks, {
      inputResponses: { other: accepted({}) },
      requestState: asked.at('result.requestState') ?? null,
    });
    expect(again.at('result.resultType')).toBe('input_required');
  });

  test.each([
    ['altered', (state: string) => `${state}x`],
    ['cut', (state: string) => state.slice(0, -1)],
    ['made up', () => 'e30.e30'],
    ['of other spelling', (state: string) => `${state.slice(0, -1)}${state.endsWith('A') ? 'B' : 'A'}`],
  ])('a state that was %s is 400 and -32602', async (_what, alter) => {
    const asked = await call(name, {}, asks);
    const refused = await call(name, {}, asks, {
      inputResponses: { user_name: accepted({ name: 'Eve' }) },
      requestState: alter(String(asked.at('result.requestState'))),
    });
    expect([refused.status, refused.at('error.code'), refused.at('error.data.code')]).toEqual([
      400,
      -32602,
      'request_state_invalid',
    ]);
  });

  test('a state is valid only for its call, server and user', async () => {
    const asked = await call('test_elicitation', { message: 'a' }, asks);
    const state = {
      inputResponses: { form: accepted({}) },
      requestState: asked.at('result.requestState') ?? null,
    };
    const other = await shop(service, { toolMode: 'direct' });
    const codes = [
      await call('test_elicitation', { message: 'b' }, asks, state),
      await call(name, {}, asks, state),
      await modern(
        other.accessUrl,
        'tools/call',
        { name: 'test_elicitation', arguments: { message: 'a' }, ...state },
        asks,
      ),
    ].map((answer) => answer.at('error.data.code'));
    expect(codes).toEqual(Array(3).fill('request_state_invalid'));
  });

  test('a question that a client did not declare is 400 and -32021', async () => {
    const answer = await call('test_missing_capability', {});
    expect([answer.status, answer.at('error.code')]).toEqual([400, -32021]);
    expect(answer.at('error.data.requiredCapabilities')).toEqual({ sampling: {} });
  });

  test('questions to the client are asked for prompts too', async () => {
    const get = (more = {}) =>
      modern(one.accessUrl, 'prompts/get', { name: 'test_input_required_result_prompt', ...more }, asks);
    const asked = await get();
    expect(asked.at('result.resultType')).toBe('input_required');
    const done = await get({
      inputResponses: { user_context: accepted({ context: 'tea' }) },
      requestState: asked.at('result.requestState'),
    });
    expect(done.at('result.messages.0.content.text')).toBe('Prompt with context: tea');
  });

  test('a missing account gets a link, and the same call works after connecting', async () => {
    const { accessUrl } = await strangerServer();
    const list = (more = {}) =>
      modern(
        accessUrl,
        'tools/call',
        {
          name: 'execute_action_svc',
          arguments: { connectorId: 'sandbox', actionId: 'list_customers', parameters: { limit: 1 } },
          ...more,
        },
        asks,
      );
    const asked = await list();
    const params = asked.at('result.inputRequests.link.params');
    expect(params).toMatchObject({ mode: 'url', message: 'Connect your Sandbox account.' });
    expect(params).not.toHaveProperty('elicitationId');
    const state = asked.at('result.requestState') ?? null;
    const declined = await list({ inputResponses: { link: { action: 'decline' } }, requestState: state });
    expect(declined.at('result.structuredContent.error.code')).toBe('credential_required');

    using reads = recordReads(service);
    const opened = list({ inputResponses: { link: { action: 'accept' } }, requestState: state });
    const isSession = (table: string) => table === 'connect_sessions';
    await expect.poll(() => reads.tables.filter(isSession).length).toBeGreaterThan(1);
    await follow(String(valueAt(params ?? null, 'url')));
    const done = await opened;
    expect(done.at('result.structuredContent.data')).toHaveLength(1);
  });
});

describe('while a call runs', () => {
  test('progress goes to the caller with a token, on the answer’s stream', async () => {
    const answer = await call('test_tool_with_progress', {}, { meta: { progressToken: 'p' } });
    expect(answer.messages.map((message) => valueAt(message, 'params.progress') ?? 'result')).toEqual([
      0,
      50,
      100,
      'result',
    ]);
  });

  test('log messages start at the requested level, and are absent without one', async () => {
    const counted = async (meta: object) =>
      (await call('test_tool_with_logging', {}, { meta: { ...meta } })).messages.filter(
        (message) => valueAt(message, 'params.logger') === undefined,
      ).length;
    expect(await counted({})).toBe(1);
    expect(await counted({ [`${META}logLevel`]: 'info' })).toBe(4);
    expect(await counted({ [`${META}logLevel`]: 'error' })).toBe(1);
  });

  test('a client that closes the stream cancels the call', async () => {
    const leave = new AbortController();
    const { asked } = holdAnswer(service, SLOW);
    const running = call('sandbox_slow', { milliseconds: 20_000 }, { signal: leave.signal });
    const closed = once(await asked, 'close');
    leave.abort();
    await expect(running).rejects.toThrow('abort');
    await closed;
    const executions = `/api/executions?userId=${one.userId}&actionId=slow`;
    await expect
      .poll(async () => (await service.call('GET', executions)).at('data.0.outcome'))
      .toBe('failed');
  });
});

describe('subscriptions/listen', () => {
  test('subscriptions/listen acknowledges and reports only the valid part of its filter', async () => {
    const heard = await listen(
      { toolsListChanged: true, resourceSubscriptions: ['test://watched-resource', 'test://nothing'] },
      async () => {
        await call('test_trigger_prompt_change', {});
        await call('test_trigger_tool_change', {});
      },
      2,
    );
    expect(heard[0]).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: {
        notifications: { toolsListChanged: true, resourceSubscriptions: ['test://watched-resource'] },
        _meta: { [`${META}subscriptionId`]: 'q1' },
      },
    });
    expect(heard[1]).toMatchObject({
      method: 'notifications/tools/list_changed',
      params: { _meta: { [`${META}subscriptionId`]: 'q1' } },
    });
  });

  test('subscriptions/listen reports changed restrictions, and ends with the right to it', async () => {
    const own = await shop(service);
    const change = (body: object) =>
      service.call('PUT', `/api/servers/${own.serverId}`, { headers: { 'x-svc-userid': own.userId }, body });
    const heard = await listen(
      { toolsListChanged: true, promptsListChanged: true },
      async (heard) => {
        await change({ restrictions: { connectors: { allowedIds: ['sandbox'] } } });
        await expect.poll(() => heard).toHaveLength(3);
        await change({ enabled: false });
      },
      10,
      own.accessUrl,
    );
    expect(
      heard.slice(1).map((message) => valueAt(message, 'method') ?? valueAt(message, 'result.resultType')),
    ).toEqual(['notifications/tools/list_changed', 'notifications/prompts/list_changed', 'complete']);
  });

  test.each([
    [{}, 'params.notifications must be an object.'],
    [{ notifications: { toolsListChanged: 1 } }, 'toolsListChanged must be true or false'],
    [{ notifications: { resourceSubscriptions: [1] } }, 'resourceSubscriptions must be a list'],
  ])('subscriptions/listen with %j is 400', async (params, words) => {
    const answer = await modern(one.accessUrl, 'subscriptions/listen', params);
    expect([answer.status, answer.at('error.code')]).toEqual([400, -32602]);
    expect(answer.at('error.message')).toContain(words);
  });
});

function call(name: string, args: object, options = {}, more: object = {}) {
  return modern(one.accessUrl, 'tools/call', { name, arguments: { ...args }, ...more }, options);
}

/** Returns the messages of a subscription until `count` came or it ended. `then` runs after the first. */
async function listen(
  notifications: object,
  then: (heard: readonly Json[]) => Promise<void>,
  count: number,
  url = one.accessUrl,
): Promise<Json[]> {
  const leave = new AbortController();
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...modernHeaders('subscriptions/listen', {}),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 'q1',
      method: 'subscriptions/listen',
      params: modernParams({ notifications: { ...notifications } }),
    }),
    signal: leave.signal,
  });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const heard: Json[] = [];
  let text = '';
  const decoder = new TextDecoder();
  let begun: Promise<void> | undefined;
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.+)$/m.exec(event)?.[1];
      if (data !== undefined) heard.push(parseJson(data));
    }
    begun ??= then(heard);
    if (heard.length >= count) break;
  }
  await begun;
  leave.abort();
  return heard;
}

/** Creates a server of a user without accounts. */
async function strangerServer() {
  const username = `stranger ${Math.random()}`;
  const userId = (await service.call('POST', '/users', { body: { username } })).text('userId');
  const created = await service.call('POST', '/api/servers', {
    headers: { 'x-svc-userid': userId },
    body: { name: `server of ${username}` },
  });
  return { accessUrl: created.text('accessUrl') };
}

/** Does what the page behind a link does when a user enters a key. */
async function follow(link: string) {
  const opened = await service.call('POST', `${new URL(link).pathname}/open`, { bearer: null, body: {} });
  const [cookie = ''] = (opened.headers.get('set-cookie') ?? '').split(';', 1);
  await service.call('POST', `/connect/sessions/${opened.text('sessionId')}/credentials`, {
    bearer: null,
    headers: { cookie },
    body: { connectorId: 'sandbox', type: 'api_key', data: { apiKey: 'sandbox_modern' } },
  });
}
