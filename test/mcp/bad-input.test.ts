import { createServer } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseJson } from '../../src/lib/json.ts';
import { beginEvents, eventText, sendJson, writeEvent } from '../../src/mcp/reply.ts';
import { rpc, shop } from '../support/mcp.ts';
import { modernHeaders, modernParams } from '../support/modern.ts';
import { startService, type Service } from '../support/service.ts';

/*
 * What a client can get wrong, or mean badly. Every answer is JSON with a code, never a page, a dump or a silence.
 */
let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
beforeAll(async () => {
  service = await startService();
  one = await shop(service, {
    toolMode: 'direct',
    restrictions: { connectors: { allowedIds: ['sandbox'] } },
  });
});
afterAll(() => service.stop());

const JSON_TYPE = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const initialize = (version = '2025-11-25', url = one.accessUrl) =>
  rpc(url, 'initialize', {
    protocolVersion: version,
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  });
const open = async (version?: string) => String((await initialize(version)).headers.get('mcp-session-id'));

describe('a body', () => {
  test.each([
    ['', 400, -32700],
    ['   ', 400, -32700],
    ['null', 400, -32600],
    ['"tools/list"', 400, -32600],
    ['[]', 400, -32600],
    ['{}', 400, -32600],
    ['{"jsonrpc":2.0,"id":1,"method":"tools/list"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":""}', 400, -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1e400,"method":"ping"}', 400, -32600],
    [
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${'['.repeat(200)}${']'.repeat(200)}}`,
      400,
      -32700,
    ],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', 200, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":[]}}', 200, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":7}}', 200, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":7}}', 200, -32602],
    [
      '{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"use_connector","arguments":{"goal":7}}}',
      200,
      -32602,
    ],
    ['{"jsonrpc":"2.0","id":1,"method":"resources/read"}', 200, -32602],
    [
      '{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"no"},"argument":{"name":"a","value":""}}}',
      200,
      -32602,
    ],
    ['{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}', 200, -32602],
    [
      '{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"svc://connectors"}}',
      200,
      -32600,
    ],
    ['{"jsonrpc":"2.0","id":1,"method":"__proto__"}', 200, -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"__proto__"}}', 200, -32602],
  ])('%s is %i with %i', async (raw, status, code) => {
    const answer = await rpc(one.accessUrl, '', undefined, { raw });
    expect([answer.status, answer.at('error.code')]).toEqual([status, code]);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(String(answer.at('error.message'))).not.toMatch(/zod|invalid_type|\bexpected\b|at \w+ \(/);
  });

  test('with a member that nobody knows is answered, and so is one in UTF-8 with a mark', async () => {
    const raw = '{"jsonrpc":"2.0","id":1,"method":"ping","extra":true}';
    expect((await rpc(one.accessUrl, '', undefined, { raw })).status).toBe(200);
  });

  test('that is an answer to nobody is taken and dropped', async () => {
    const raw = '{"jsonrpc":"2.0","id":1,"result":{}}';
    expect((await rpc(one.accessUrl, '', undefined, { raw })).status).toBe(202);
  });
});

describe('headers', () => {
  test.each(['PUT', 'PATCH'])('%s is 405 with what is allowed', async (method) => {
    const answer = await fetch(one.accessUrl, { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, GET, DELETE, OPTIONS']);
  });

  test('a version that nobody speaks is refused without a session too', async () => {
    const answer = await rpc(one.accessUrl, 'tools/list', undefined, {
      headers: { 'mcp-protocol-version': '1999-01-01' },
    });
    expect([answer.status, answer.at('error.code')]).toEqual([400, -32600]);
  });

  test('Mcp-Method alone makes no modern request: clients of the older form send it too', async () => {
    const answer = await rpc(one.accessUrl, 'ping', undefined, { headers: { 'mcp-method': 'ping' } });
    expect(answer.at('result')).toEqual({});
  });

  test('a page of another origin may send the headers of the modern form', async () => {
    const answer = await fetch(one.accessUrl, {
      method: 'OPTIONS',
      headers: {
        origin: 'http://localhost:5173',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'mcp-method, mcp-param-region, cookie',
      },
    });
    const allowed = answer.headers.get('access-control-allow-headers')?.toLowerCase().split(', ');
    expect(allowed).toEqual(expect.arrayContaining(['mcp-method', 'mcp-name', 'mcp-param-region']));
    expect(allowed).not.toContain('cookie');
  });
});

describe('a session', () => {
  test('answers each of a batch, ids that come twice too, and refuses empty and long ones', async () => {
    const sessionId = await open('2025-03-26');
    const post = (messages: object[]) =>
      rpc(one.accessUrl, '', undefined, {
        raw: JSON.stringify(messages),
        headers: { 'mcp-session-id': sessionId },
      });
    const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });
    const answered = await post([ping(1), ping(1), { jsonrpc: '2.0', method: 'notifications/initialized' }]);
    expect(answered.body).toEqual([
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 1, result: {} },
    ]);
    for (const messages of [[], Array.from({ length: 101 }, (_, id) => ping(id))]) {
      const refused = await post(messages);
      expect([refused.status, refused.at('error.code')]).toEqual([400, -32600]);
    }
  });

  test.each(['nonsense', 'p99_1', 'g_999999', 'p_1', '../g_1'])('Last-Event-ID %s is 400', async (id) => {
    const answer = await fetch(one.accessUrl, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': await open(), 'last-event-id': id },
    });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'application/json']);
    await answer.text();
  });

  test('is gone after its end, and a second initialize in it is refused', async () => {
    const headers = { 'mcp-session-id': await open() };
    const again = await rpc(one.accessUrl, 'initialize', { protocolVersion: '2025-11-25' }, { headers });
    expect([again.status, again.at('error.code')]).toEqual([400, -32600]);
    expect((await fetch(one.accessUrl, { method: 'DELETE', headers })).status).toBe(200);
    expect((await fetch(one.accessUrl, { method: 'DELETE', headers })).status).toBe(404);
    const late = await rpc(one.accessUrl, 'ping', undefined, { headers });
    expect([late.status, late.at('error.code')]).toEqual([404, -32001]);
  });

  test('those that one token opens beyond a thousand cost it its own oldest, and nobody else theirs', async () => {
    const other = await shop(service);
    const theirs = String((await initialize(undefined, other.accessUrl)).headers.get('mcp-session-id'));
    const first = await open();
    for (let batch = 0; batch < 50; batch++) await Promise.all(Array.from({ length: 21 }, () => open()));
    const ping = async (url: string, id: string) =>
      (await rpc(url, 'ping', undefined, { headers: { 'mcp-session-id': id } })).status;
    expect(await ping(one.accessUrl, first)).toBe(404);
    expect(await ping(other.accessUrl, theirs)).toBe(200);
    expect(await ping(one.accessUrl, await open())).toBe(200);
  });

  test('its stream ends when its token is no longer good', async () => {
    const own = await shop(service);
    const sessionId = String((await initialize(undefined, own.accessUrl)).headers.get('mcp-session-id'));
    const stream = await fetch(own.accessUrl, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': sessionId },
    });
    const ended = stream.text();
    await service.call('POST', `/api/servers/${own.serverId}/token`, {
      headers: { 'x-svc-userid': own.userId },
      body: {},
    });
    const started = performance.now();
    await ended;
    expect(performance.now() - started).toBeLessThan(2500);
  });
});

describe('a client that never reads', () => {
  test('loses an event stream that grew beyond a mebibyte', async () => {
    let closed = false;
    const server = createServer((_req, res) => {
      res.on('close', () => (closed = true));
      beginEvents(res);
      const flood = setInterval(() => {
        writeEvent(res, eventText('x'.repeat(100_000)));
        if (res.destroyed) clearInterval(flood);
      }, 1);
    });
    const socket = await deaf(server);
    await expect.poll(() => closed, { timeout: 5000 }).toBe(true);
    socket.destroy();
    server.close();
  });

  test('is given a minute for an answer that is one piece', async () => {
    let timeout = 0;
    const server = createServer((req, res) => {
      sendJson(res, 200, JSON.stringify('x'.repeat(20_000_000)));
      timeout = req.socket.timeout ?? 0;
    });
    const socket = await deaf(server);
    await expect.poll(() => timeout, { timeout: 5000 }).toBe(60_000);
    socket.destroy();
    server.close();
  });
});

test('one caller cannot listen a thousand times', async () => {
  const own = await shop(service);
  const leave = new AbortController();
  const listen = () =>
    fetch(own.accessUrl, {
      method: 'POST',
      headers: { ...JSON_TYPE, ...modernHeaders('subscriptions/listen', {}) },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'subscriptions/listen',
        params: modernParams({ notifications: { toolsListChanged: true } }),
      }),
      signal: leave.signal,
    });
  for (let batch = 0; batch < 20; batch++) await Promise.all(Array.from({ length: 50 }, listen));
  const refused = await listen();
  expect([refused.status, parseJson(await refused.text())]).toMatchObject([429, { error: { code: -32009 } }]);
  leave.abort();
});

/** A socket that has asked for something and reads nothing of the answer. */
async function deaf(server: ReturnType<typeof createServer>) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const socket = connect(port, '127.0.0.1');
  socket.pause();
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  return socket;
}
