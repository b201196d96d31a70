import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { parseJson } from '../../src/lib/json.ts';
import { abilitiesOf } from '../../src/mcp/protocol/abilities.ts';
import { beginEvents, eventText, sendJson, writeEvent } from '../../src/mcp/transport/reply.ts';
import { createSessions } from '../../src/mcp/transport/client-sessions.ts';
import { createListeners } from '../../src/mcp/transport/listeners.ts';
import { IS_FULL } from '../support/full.ts';
import { until } from '../support/until.ts';
import { rpc, shop } from '../support/mcp.ts';
import { modernHeaders, modernParams } from '../support/modern.ts';
import { recordReads } from '../support/polls.ts';
import { startService, type Service } from '../support/service.ts';

/* Wrong and hostile requests. Every request gets an answer that is JSON with a code. */
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

describe.each(['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'])(
  '%s',
  (method) => {
    test.each(['', '  '])('a list takes the blank cursor "%s" for none', async (cursor) => {
      const whole = await rpc(one.accessUrl, method);
      expect((await rpc(one.accessUrl, method, { cursor })).at('result')).toEqual(whole.at('result'));
      const inSession = { headers: { 'mcp-session-id': await open() } };
      const paged = await rpc(one.accessUrl, method, { cursor }, inSession);
      expect(paged.at('result')).toEqual(whole.at('result'));
    });

    test('a list refuses a cursor of another list', async () => {
      const refused = await rpc(one.accessUrl, method, { cursor: '0.' });
      expect(refused.at('error.code')).toBe(-32602);
    });
  },
);

test('list_connectors_svc takes a blank cursor for none', async () => {
  const list = async (args: object) =>
    (await rpc(one.accessUrl, 'tools/call', { name: 'list_connectors_svc', arguments: args })).at(
      'result.structuredContent',
    );
  const whole = await list({});
  expect(whole).toMatchObject({ connectors: [{ connectorId: 'sandbox' }] });
  expect(await list({ cursor: '' })).toEqual(whole);
  expect(await list({ cursor: ' ' })).toEqual(whole);
  expect(await list({ cursor: 'forged' })).toMatchObject({ error: { code: 'invalid_request' } });
});

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
    ...[
      { ref: { type: 'x' }, argument: { name: 1 } },
      { ref: { type: 'ref/prompt' }, argument: { name: 'a', value: '' } },
      { ref: { type: 'ref/prompt', name: 'connect_app' }, argument: { name: 'a', value: 5 } },
      {
        ref: { type: 'ref/resource', uri: 'svc://x' },
        argument: { name: 'a', value: '' },
        context: { arguments: { a: 1 } },
      },
    ].map((params): [string, number, number] => [
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'completion/complete', params }),
      200,
      -32602,
    ]),
    ['{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}', 200, -32602],
    [
      '{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"svc://connectors"}}',
      200,
      -32600,
    ],
    ['{"jsonrpc":"2.0","id":1,"method":"__proto__"}', 200, -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"__proto__"}}', 200, -32602],
  ])('the body %s is %i with %i', async (raw, status, code) => {
    const answer = await rpc(one.accessUrl, '', undefined, { raw });
    expect([answer.status, answer.at('error.code')]).toEqual([status, code]);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(String(answer.at('error.message'))).not.toMatch(/zod|invalid_type|\bexpected\b|at \w+ \(/);
    expect(answer.at('error.data')).toMatchObject({
      code: expect.any(String),
      requestId: expect.any(String),
    });
  });

  test('an unknown method gets an error that names it', async () => {
    const answer = await rpc(one.accessUrl, 'tools/lst');
    expect(answer.at('error')).toMatchObject({
      code: -32601,
      message: 'There is no method "tools/lst" here.',
      data: { code: 'method_not_found' },
    });
  });

  test.each(['server/discover', 'subscriptions/listen'])(
    'the method %s is unknown in another MCP version',
    async (method) => {
      const headers = { 'mcp-protocol-version': '2025-11-25' };
      const answer = await rpc(one.accessUrl, method, {}, { headers });
      expect([answer.status, answer.at('error.code')]).toEqual([200, -32601]);
    },
  );

  test('a call with a task is answered like one without', async () => {
    const params = { name: 'list_connectors_svc', task: { ttl: 1000 } };
    for (const answer of [
      await rpc(one.accessUrl, 'tools/call', params),
      await rpc(one.accessUrl, 'tools/call', { ...params, other: 1 }),
    ])
      expect(answer.at('result.structuredContent.connectors')).toHaveLength(1);
  });

  test('wrong arguments get an error for each of them', async () => {
    const call = async (name: string, args: object) =>
      (await rpc(one.accessUrl, 'tools/call', { name, arguments: args })).at('result.content.0.text');
    expect(await call('list_connectors_svc', { category: 5, more: 1 })).toMatch(
      'The call of list_connectors_svc is invalid. category: must be text: write "5" in quotes; ' +
        'more: is not a known argument; known: category, cursor. Correct the named arguments and call again.\nInput schema: {',
    );
    expect(await call('search_actions_svc', { query: '', effect: 'x', limit: 11 })).toContain(
      'query: must be at least 1 character; effect: must be one of: read, write, destructive; limit: must be at most 10.',
    );
    expect(await call('execute_batch_svc', { calls: [{ connectorId: 'sandbox', action: 'x' }] })).toContain(
      'calls.0.actionId: is required; known: list_customers,',
    );
    expect(await call('execute_batch_svc', { calls: [] })).toContain('calls: must be at least 1 item.');
  });

  test('an unknown Content-Encoding is rejected with the reason', async () => {
    const answer = await rpc(one.accessUrl, 'ping', undefined, {
      headers: { 'content-encoding': 'compress' },
    });
    expect([answer.status, answer.at('error.data.code')]).toEqual([415, 'unsupported_media_type']);
    expect(answer.at('error.message')).toContain('Content-Encoding');
  });

  test('a body with an unknown member or a byte order mark is answered', async () => {
    const raw = '{"jsonrpc":"2.0","id":1,"method":"ping","extra":true}';
    expect((await rpc(one.accessUrl, '', undefined, { raw })).status).toBe(200);
  });

  test('a response to no request is accepted and ignored', async () => {
    const raw = '{"jsonrpc":"2.0","id":1,"result":{}}';
    expect((await rpc(one.accessUrl, '', undefined, { raw })).status).toBe(202);
  });
});

describe('headers', () => {
  test.each(['PUT', 'PATCH'])('%s is 405 with the allowed methods', async (method) => {
    const answer = await fetch(one.accessUrl, { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, GET, DELETE, OPTIONS']);
    expect(await answer.text()).toContain(`${method} is not allowed here. Send JSON-RPC by POST.`);
  });

  test.each(['GET', 'DELETE'])('%s without a session is 405', async (method) => {
    const answer = await fetch(one.accessUrl, { method, headers: { accept: 'text/event-stream' } });
    expect(answer.status).toBe(405);
    expect(await answer.text()).toContain(`${method} is not allowed here without a session (Mcp-Session-Id)`);
  });

  test('an invalid user token gets an error that names its header', async () => {
    const answer = await rpc(one.accessUrl, 'ping', undefined, { headers: { 'x-svc-user-token': 'abc' } });
    expect(answer.status).toBe(401);
    expect(answer.at('error.message')).toContain('x-svc-user-token');
  });

  test('an unknown version is rejected without a session', async () => {
    const answer = await rpc(one.accessUrl, 'tools/list', undefined, {
      headers: { 'mcp-protocol-version': '1999-01-01' },
    });
    expect([answer.status, answer.at('error.code')]).toEqual([400, -32600]);
  });

  test('Mcp-Method alone selects an older version, because its clients send it too', async () => {
    const answer = await rpc(one.accessUrl, 'ping', undefined, { headers: { 'mcp-method': 'ping' } });
    expect(answer.at('result')).toEqual({});
  });

  test('pages of other origins may send the headers of MCP 2026-07-28', async () => {
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
  test('a session answers each message of a batch and rejects empty and long batches', async () => {
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

  test('a session is gone after its end, and rejects a second initialize', async () => {
    const headers = { 'mcp-session-id': await open() };
    const again = await rpc(one.accessUrl, 'initialize', { protocolVersion: '2025-11-25' }, { headers });
    expect([again.status, again.at('error.code')]).toEqual([400, -32600]);
    expect((await fetch(one.accessUrl, { method: 'DELETE', headers })).status).toBe(200);
    expect((await fetch(one.accessUrl, { method: 'DELETE', headers })).status).toBe(404);
    const late = await rpc(one.accessUrl, 'ping', undefined, { headers });
    expect([late.status, late.at('error.code')]).toEqual([404, -32001]);
  });

  test.runIf(IS_FULL)('a caller with over a thousand sessions loses only its own oldest', async () => {
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

  test('the stream of a session ends when its token expires', async () => {
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
    await expect(ended).resolves.toBeTypeOf('string');
  });
});

test('a client that disconnects while it sends causes no error in the log', async () => {
  const { port, pathname } = new URL(one.accessUrl);
  const seen = service.logged.length;
  const socket = connect(Number(port), '127.0.0.1');
  const arrived = once(service.app.server, 'request');
  const head = 'Content-Type: application/json\r\nContent-Length: 1000';
  socket.write(`POST ${pathname} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${head}\r\n\r\n{`);
  await arrived;
  socket.destroy();
  await expect.poll(() => service.logged.slice(seen).join('')).toContain('"request"');
  expect(service.logged.slice(seen).join('')).not.toContain('"level":50');
});

test('a request whose client disconnected early still ends', async () => {
  const { context, app, logged } = service;
  const leave = new AbortController();
  const closed = new Promise<void>((resolve) => {
    app.server.once('request', (_req, res) => {
      res.once('close', resolve);
    });
  });
  context.servers.forget();
  const seen = logged.length;
  // The store has one connection, so the request waits.
  await context.db.transaction().execute(async () => {
    using reads = recordReads(service);
    const lost = rpc(one.accessUrl, 'ping', {}, { signal: leave.signal }).catch(String);
    await until(() => reads.tables.includes('servers'));
    leave.abort();
    expect(await lost).toContain('aborted');
    await closed;
  });
  await expect.poll(() => logged.slice(seen).join('')).toContain('"request"');
});

describe('a client that does not read', () => {
  test('a client that does not read loses a stream with more than 1 MiB unread', async () => {
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
    await expect.poll(() => closed).toBe(true);
    socket.destroy();
    server.close();
  });

  test('a client that does not read loses its connection after a minute', async () => {
    let timeout = 0;
    const server = createServer((req, res) => {
      sendJson(res, 200, { body: JSON.stringify('x'.repeat(20_000_000)) });
      timeout = req.socket.timeout ?? 0;
    });
    const socket = await deaf(server);
    await expect.poll(() => timeout).toBe(60_000);
    socket.destroy();
    server.close();
  });
});

/** Returns a function that makes the grant of a caller at the server. */
async function grants() {
  const live = await service.context.servers.byId('development', one.serverId);
  if (!live) throw new Error('no server');
  return (caller: string) => ({
    environment: 'development' as const,
    live,
    caller,
    userId: one.userId,
    credentialHeader: undefined,
    redirectUri: undefined,
    endsAt: Infinity,
  });
}

test('sessions of a few callers do not evict the session of another', async () => {
  const grantOf = await grants();
  const sessions = createSessions(systemClock);
  const client = { protocolVersion: '2025-11-25', abilities: abilitiesOf('2025-11-25', {}) };
  const mine = sessions.create(grantOf('me'), client);
  const greedy = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].map(grantOf);
  const first = greedy.map((grant) => sessions.create(grant, client).sessionId);
  for (let n = 0; n < 11_000; n++) sessions.create(greedy[n % 10] ?? grantOf('a'), client);
  expect(sessions.find(mine.sessionId, grantOf('me'))).toBe(mine);
  expect(greedy.map((grant, n) => sessions.find(first[n] ?? '', grant))).toEqual(greedy.map(() => undefined));
  sessions.close();
});

test('a caller with a thousand listeners gets no more, and another caller does', async () => {
  const grantOf = await grants();
  const listeners = createListeners();
  const closed: (() => void)[] = [];
  const sink = {
    send: () => {},
    ping: () => {},
    end: () => {},
    onClose: (end: () => void) => void closed.push(end),
  };
  const open = (caller: string) => {
    const grant = grantOf(caller);
    listeners.admit(grant);
    listeners.open(sink, {
      id: 1,
      grant,
      filter: { toolsListChanged: true },
      newest: new Map(),
      since: 0,
      rights: async () => grant,
    });
  };
  for (let n = 0; n < 1000; n++) open('me');
  expect(() => open('me')).toThrow('Too many streams are open already');
  expect(() => open('other')).not.toThrow();
  closed[0]?.();
  expect(() => open('me')).not.toThrow();
});

test.runIf(IS_FULL)('a caller cannot open a thousand listeners', async () => {
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
  // fetch closes an answer without references when its garbage is collected.
  const streams: Response[] = [];
  for (let batch = 0; batch < 20; batch++)
    streams.push(...(await Promise.all(Array.from({ length: 50 }, listen))));
  const refused = await listen();
  expect([refused.status, parseJson(await refused.text())]).toMatchObject([429, { error: { code: -32009 } }]);
  expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200));
  leave.abort();
});

/** Returns a socket that sent a request and does not read the answer. */
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
