import { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VERSIONS } from '../../src/mcp/protocol/initialize.ts';
import { holdAnswer, SLOW } from '../support/held-answers.ts';
import { connectClient, rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
beforeAll(async () => {
  service = await startService();
  one = await shop(service, {
    toolMode: 'direct',
    customInstructions: 'Answer in French.',
    restrictions: { connectors: { allowedIds: ['sandbox'] } },
  });
});
afterAll(() => service.stop());

const initialize = (version: string, url = one.accessUrl, headers: Record<string, string> = {}) =>
  rpc(
    url,
    'initialize',
    { protocolVersion: version, capabilities: {}, clientInfo: { name: 't', version: '1' } },
    { headers },
  );
const open = async (version = '2025-11-25') =>
  String((await initialize(version)).headers.get('mcp-session-id'));

describe('the official client', () => {
  test('the official client uses tools, resources and prompts of the token URL', async () => {
    const client = await connectClient(one.accessUrl);
    expect(client.getServerVersion()).toMatchObject({ name: 'gatehouse', title: 'Gatehouse' });
    expect(client.getInstructions()).toContain('Answer in French.');
    const { tools } = await client.listTools();
    const listCustomers = tools.find(({ name }) => name === 'sandbox_list_customers');
    expect(listCustomers?.annotations).toMatchObject({ readOnlyHint: true });
    expect(listCustomers?.icons?.[0]?.src).toContain('/connectors/sandbox/icon.svg');
    const called = await client.callTool({ name: 'sandbox_list_customers', arguments: { limit: 2 } });
    expect(called.structuredContent).toMatchObject({
      data: [{}, {}],
      pagination: { hasMore: true, nextOffset: 2 },
    });
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toContain(
      'svc://connectors/sandbox',
    );
    expect((await client.listResourceTemplates()).resourceTemplates.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['connector', 'file']),
    );
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('connect_app');
    const wrong = await client.callTool({ name: 'sandbox_get_customer', arguments: {} });
    expect(wrong.isError).toBe(true);
    await client.close();
  });

  test('the official client connects to the API-key URL with a key and a user', async () => {
    const client = await connectClient(one.url, {
      authorization: `Bearer ${service.developmentKey}`,
      'x-svc-userid': one.userId,
    });
    expect(
      (await client.callTool({ name: 'list_credentials_svc', arguments: {} })).structuredContent,
    ).toMatchObject({
      credentials: [{ credentialId: one.credentialId }],
    });
    await client.close();
  });

  test('the official client gets progress of a slow action, and cancels it at the app', async () => {
    const client = await connectClient(one.accessUrl);
    const heard: number[] = [];
    await client.callTool({ name: 'sandbox_slow', arguments: { milliseconds: 400 } }, undefined, {
      onprogress: ({ progress }) => heard.push(progress),
    });
    expect(heard.length).toBeGreaterThan(1);
    expect([...heard].sort((a, b) => a - b)).toEqual(heard);

    const cancel = new AbortController();
    const { asked } = holdAnswer(service, SLOW);
    const call = client.callTool({ name: 'sandbox_slow', arguments: { milliseconds: 30_000 } }, undefined, {
      signal: cancel.signal,
    });
    const closed = once(await asked, 'close');
    cancel.abort('enough');
    await expect(call).rejects.toThrow(/abort|enough|cancel/i);
    await closed;
    await expect.poll(recentSlow).toMatchObject({ outcome: 'failed' });
    await client.close();
  });

  test('the official client is notified when the lists of the server have changed', async () => {
    const changing = await shop(service, {
      toolMode: 'direct',
      restrictions: { connectors: { allowedIds: ['sandbox'] } },
    });
    const client = await connectClient(changing.accessUrl);
    let told = 0;
    const { ToolListChangedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js');
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void told++);
    await client.listTools();
    await service.call('PUT', `/api/servers/${changing.serverId}`, {
      body: { restrictions: { connectors: { allowedIds: [] } } },
    });
    await expect.poll(() => told).toBeGreaterThan(0);
    expect((await client.listTools()).tools.some(({ name }) => name.startsWith('sandbox_'))).toBe(false);
    await client.close();
  });
});

async function recentSlow() {
  await service.context.executions.flush();
  const rows = await service.call('GET', '/api/executions?actionId=slow&limit=1');
  return rows.at('data.0');
}

describe('versions', () => {
  test('the versions of the protocol are those of the official SDK', () => {
    expect(VERSIONS).toEqual(SUPPORTED_PROTOCOL_VERSIONS);
    expect(VERSIONS[0]).toBe(LATEST_PROTOCOL_VERSION);
  });

  test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'the version %s is accepted',
    async (version) => {
      const answer = await initialize(version);
      expect(answer.at('result.protocolVersion')).toBe(version);
      expect(answer.headers.get('mcp-session-id')).toMatch(/^[\x21-\x7e]+$/);
    },
  );

  test.each(['1999-01-01', '2026-07-28'])(
    'the version %s is answered with the newest version',
    async (version) => {
      expect((await initialize(version)).at('result.protocolVersion')).toBe('2025-11-25');
    },
  );

  test('batches are answered only in sessions of 2025-03-26 and earlier', async () => {
    const batch = JSON.stringify([
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 'b', method: 'prompts/list' },
    ]);
    const send = (session: string) =>
      fetch(one.accessUrl, {
        method: 'POST',
        body: batch,
        headers: { 'content-type': 'application/json', 'mcp-session-id': session },
      });
    const old = await send(await open('2025-03-26'));
    expect(await old.json()).toMatchObject([
      { id: 1, result: {} },
      { id: 'b', result: { prompts: expect.any(Array) } },
    ]);
    expect((await send(await open('2025-11-25'))).status).toBe(400);
  });

  test('an unknown version header is 400', async () => {
    const headers = { 'mcp-session-id': await open(), 'mcp-protocol-version': '1999-01-01' };
    expect((await rpc(one.accessUrl, 'ping', {}, { headers })).status).toBe(400);
  });
});

describe('a session', () => {
  test('a session answers ping, accepts notifications, and ends with DELETE', async () => {
    const headers = { 'mcp-session-id': await open() };
    expect((await rpc(one.accessUrl, 'ping', {}, { headers })).at('result')).toEqual({});
    expect(
      (
        await rpc(one.accessUrl, '', undefined, {
          headers,
          raw: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        })
      ).status,
    ).toBe(202);
    expect(
      (await rpc(one.accessUrl, 'initialize', { protocolVersion: '2025-11-25' }, { headers })).status,
    ).toBe(400);
    expect((await fetch(one.accessUrl, { method: 'DELETE', headers })).status).toBe(200);
    const gone = await rpc(one.accessUrl, 'ping', {}, { headers });
    expect([gone.status, gone.at('error.code')]).toEqual([404, -32001]);
  });

  test('a session is not found for another server, user or caller', async () => {
    const other = await shop(service);
    const session = await open();
    expect((await rpc(other.accessUrl, 'ping', {}, { headers: { 'mcp-session-id': session } })).status).toBe(
      404,
    );
    const foreignUser = { 'mcp-session-id': session, 'x-svc-userid': other.userId };
    expect((await rpc(one.accessUrl, 'ping', {}, { headers: foreignUser })).status).toBe(404);
    const key = {
      authorization: `Bearer ${service.developmentKey}`,
      'x-svc-userid': one.userId,
      'mcp-session-id': session,
    };
    expect((await rpc(one.url, 'ping', {}, { headers: key })).status).toBe(404);
    expect(
      (await fetch(other.accessUrl, { method: 'DELETE', headers: { 'mcp-session-id': session } })).status,
    ).toBe(404);
  });

  test('a session is authorised again for every request', async () => {
    const closing = await shop(service);
    const session = String((await initialize('2025-11-25', closing.accessUrl)).headers.get('mcp-session-id'));
    const ping = () => rpc(closing.accessUrl, 'ping', {}, { headers: { 'mcp-session-id': session } });
    expect((await ping()).status).toBe(200);
    await service.call('PUT', `/api/servers/${closing.serverId}`, {
      body: { restrictions: { users: { allowedIds: ['usr_other'] } } },
    });
    expect((await ping()).status).toBe(403);
  });

  test('a session accepts log levels, and then sends log messages', async () => {
    const headers = { 'mcp-session-id': await open() };
    expect(
      (await rpc(one.accessUrl, 'logging/setLevel', { level: 'loud' }, { headers })).at('error.code'),
    ).toBe(-32602);
    expect(
      (await rpc(one.accessUrl, 'logging/setLevel', { level: 'info' }, { headers })).at('result'),
    ).toEqual({});
    const answer = await rpc(
      one.accessUrl,
      'tools/call',
      { name: 'list_connectors_svc', arguments: {} },
      { headers },
    );
    expect(answer.messages[0]).toMatchObject({
      method: 'notifications/message',
      params: { level: 'info', data: { tool: 'list_connectors_svc' } },
    });
    expect(answer.at('result.structuredContent.connectors.0.connectorId')).toBe('sandbox');
  });

  test('a session subscribes only to existing resources', async () => {
    const headers = { 'mcp-session-id': await open() };
    expect(
      (await rpc(one.accessUrl, 'resources/subscribe', { uri: 'svc://connectors' }, { headers })).at(
        'result',
      ),
    ).toEqual({});
    expect(
      (await rpc(one.accessUrl, 'resources/subscribe', { uri: 'svc://nowhere' }, { headers })).at(
        'error.code',
      ),
    ).toBe(-32002);
  });

  test('a broken stream resumes where it broke, with the answer', async () => {
    const session = await open();
    const headers = {
      'mcp-session-id': session,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const cut = new AbortController();
    const slow = holdAnswer(service, SLOW);
    const response = await fetch(one.accessUrl, {
      method: 'POST',
      headers,
      signal: cut.signal,
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 5,
        method: 'tools/call',
        params: { name: 'sandbox_slow', arguments: { milliseconds: 100 }, _meta: { progressToken: 1 } },
      }),
    });
    const reader = response.body?.getReader();
    let text = '';
    while (!/"progress":/.test(text)) text += new TextDecoder().decode((await reader?.read())?.value);
    const lastId = [...text.matchAll(/^id: (.+)$/gm)].at(-1)?.[1] ?? '';
    const before = await recentSlow();
    cut.abort();
    slow.release();
    // The call ends while its client is away.
    await expect.poll(recentSlow).not.toEqual(before);
    const resumed = await fetch(one.accessUrl, {
      headers: { 'mcp-session-id': session, accept: 'text/event-stream', 'last-event-id': lastId },
    });
    const rest = await resumed.text();
    expect(rest).toContain('"id":5');
    expect(rest).not.toContain(`id: ${lastId}\n`);
  });

  test('a call without a session is cancelled when its client disconnects', async () => {
    const gone = new AbortController();
    const { asked } = holdAnswer(service, SLOW);
    const call = rpc(
      one.accessUrl,
      'tools/call',
      { name: 'sandbox_slow', arguments: { milliseconds: 20_000 } },
      { signal: gone.signal },
    );
    const closed = once(await asked, 'close');
    gone.abort();
    await expect(call).rejects.toThrow(/abort|enough|cancel/i);
    await closed;
    await expect.poll(recentSlow).toMatchObject({ outcome: 'failed', errorCode: 'upstream_failed' });
  });
});
