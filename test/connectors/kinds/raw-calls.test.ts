import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { connectClient } from '../../support/mcp.ts';
import { startFileApp, type FileApp } from '../../support/file-app.ts';
import { STORE_KINDS } from '../../support/stores.ts';

const FILE = `baseUrl: '{origin}/api/v2'
authentication: [{type: api_key, in: header, name: X-Key}]
headers: {X-Version: '7'}
errors: {message: [message]}
actions:
  list_notes: {description: Lists notes., request: GET /notes}
`;
const CANARY = 'key-of-the-tests-canary';
const GET = { method: 'GET', path: '/notes/1' };

describe.each(STORE_KINDS)('the raw call of a connector on %s', (kind) => {
  let app: FileApp;
  beforeAll(async () => {
    app = await startFileApp(FILE, { kind });
    await app.connect({ apiKey: CANARY });
  });
  afterAll(() => app[Symbol.asyncDispose]());
  beforeEach(() => {
    app.seen.length = 0;
    app.answer = () => ({ body: { ok: true } });
  });
  const request = (input: object) => app.execute('request', input);
  const server = async (restrictions?: object): Promise<Client> => {
    const made = await app.service.call('POST', '/api/servers', {
      headers: { 'x-svc-userid': app.userId },
      body: {
        name: `raw ${Math.random()}`,
        toolMode: 'direct',
        ...(restrictions === undefined ? {} : { restrictions }),
      },
    });
    expect(made.status).toBe(201);
    return connectClient(made.text('accessUrl'));
  };
  const code = (result: object) =>
    'structuredContent' in result ? Object(Object(result.structuredContent).error).code : undefined;

  test('the raw call of a connector goes below the base address with the credential', async () => {
    const answer = await request({
      method: 'POST',
      path: '/notes/a%2Fb',
      query: { limit: 5, tag: ['a b', 'c'] },
      headers: { 'If-Match': '"1"' },
      body: { title: 'Hi' },
    });
    expect(answer.body).toEqual({ data: { ok: true } });
    const [sent] = app.seen;
    expect([sent?.method, sent?.target]).toEqual(['POST', '/api/v2/notes/a%2Fb?limit=5&tag=a+b&tag=c']);
    expect(sent?.headers).toMatchObject({
      'x-key': CANARY,
      'x-version': '7',
      'if-match': '"1"',
      'content-type': 'application/json',
    });
    expect(JSON.parse(sent?.body ?? '')).toEqual({ title: 'Hi' });
  });

  test('the raw call of a connector cannot leave the base address', async () => {
    const paths = [
      'notes',
      'https://evil.example/x',
      '//evil.example/x',
      '/../v1/admin',
      '/notes/../../v1',
      '/notes/%2e%2e/%2e%2e/v1',
      '/notes/..%2f..%2fv1',
      '/notes/%252e%252e/x',
      '/notes/.%252e/x',
      '/notes/..;/x',
      '/notes/%2f%2fevil.example',
      '/notes\\..\\x',
      '/notes/%5c..%5cx',
      '/notes//x',
      '/notes?x=1',
      '/notes#x',
      '/notes/%00',
      '/notes/%ff',
      '/@evil.example/../..',
      '/./x',
    ];
    for (const path of paths) {
      const refused = await request({ method: 'GET', path });
      expect([path, refused.status, refused.at('code')]).toEqual([path, 400, 'invalid_request']);
    }
    expect(app.seen).toEqual([]);
  });

  test('the raw call takes no header of a credential or host, and no other method', async () => {
    const names = ['Authorization', 'X-Key', 'Host', 'Cookie', 'X-Forwarded-Host', 'X-HTTP-Method-Override'];
    for (const name of names) {
      const refused = await request({ ...GET, headers: { [name]: 'x' } });
      expect([name, refused.status]).toEqual([name, 400]);
    }
    for (const input of [
      { ...GET, query: { _method: 'DELETE' } },
      { method: 'POST', path: '/x', body: { _method: 'DELETE' } },
      { method: 'TRACE', path: '/x' },
      { ...GET, body: { a: 1 } },
      { ...GET, headers: { Accept: 'a\r\nX: 1' } },
      { method: 'GET' },
      { ...GET, url: 'https://evil.example' },
    ])
      expect((await request(input)).status).toBe(400);
    expect(app.seen).toEqual([]);
  });

  test('the raw call blanks the credential in answers and reports errors of the app', async () => {
    app.answer = () => ({ body: { echo: CANARY } });
    expect(JSON.stringify((await request(GET)).body)).not.toContain(CANARY);
    app.answer = () => ({ status: 404, body: { message: 'No such note' } });
    const missing = await request(GET);
    expect([missing.status, missing.at('code')]).toEqual([422, 'upstream_rejected']);
  });

  test('the raw call is reachable over MCP only where an allowlist names it exactly', async () => {
    for (const restrictions of [
      undefined,
      { actions: { mode: 'allowlist', allowedActions: ['app.*'] } },
      { actions: { mode: 'allowlist', allowedActions: ['*.request', 'request', 'app.reques*'] } },
      { actions: { mode: 'blocklist', blockedActions: ['app.other'] } },
      { actions: { mode: 'blocklist', blockedActions: [] } },
      { connectors: { mode: 'allowlist', allowedIds: ['app'] } },
    ]) {
      const client = await server(restrictions);
      const { tools } = await client.listTools();
      expect(tools.some(({ name }) => name === 'app_request')).toBe(false);
      const denied = await client
        .callTool({
          name: 'execute_action_svc',
          arguments: { connectorId: 'app', actionId: 'request', parameters: GET },
        })
        .catch((error: unknown) => Object(error));
      expect(code(denied) ?? denied.code).toSatisfy((found) => found === 'restricted' || found === -32003);
      await client.close();
    }
    expect(app.seen).toEqual([]);
    const client = await server({ actions: { mode: 'allowlist', allowedActions: ['app.*', 'app.request'] } });
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'app_request')?.annotations).toMatchObject({
      destructiveHint: true,
    });
    const got = await client.callTool({ name: 'app_request', arguments: GET });
    expect(got.structuredContent).toMatchObject({ data: { ok: true } });
    await client.close();
  });

  test('the raw call has the effect of its method, and a POST is destructive', async () => {
    const allowed = { actions: { mode: 'allowlist', allowedActions: ['app.request'] } };
    const reads = await server({ ...allowed, effects: { allowed: ['read', 'write'] } });
    const call = (client: Client, method: string) =>
      client.callTool({ name: 'app_request', arguments: { method, path: '/notes/1' } });
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH'])
      expect(code(await call(reads, method))).toBe(undefined);
    for (const method of ['POST', 'DELETE']) expect(code(await call(reads, method))).toBe('restricted');
    await reads.close();
    expect(app.seen.map(({ method }) => method)).toEqual(['GET', 'HEAD', 'PUT', 'PATCH']);
    const asks = await server({ ...allowed, confirm: ['destructive'] });
    expect(code(await call(asks, 'GET'))).toBe(undefined);
    expect(code(await call(asks, 'POST'))).toBe('confirmation_required');
    await asks.close();
  });

  test('the raw call of a connector is recorded as an execution of its connector', async () => {
    await request({ method: 'DELETE', path: '/notes/1' });
    const listed = await app.service.call('GET', '/api/executions?connectorId=app&actionId=request&limit=1');
    expect(listed.at('data.0')).toMatchObject({ actionId: 'request', outcome: 'succeeded' });
    const shown = await app.call('GET', '/connectors/app/actions/request');
    expect(shown.at('effect')).toBe('destructive');
  });
});

test('a connector file can say that a POST writes, and forms are sent as forms', async () => {
  await using app = await startFileApp(`${FILE}bodyType: form\nrawEffects: {POST: write}\n`);
  await app.connect({ apiKey: CANARY });
  const made = await app.service.call('POST', '/api/servers', {
    headers: { 'x-svc-userid': app.userId },
    body: {
      name: 'raw',
      toolMode: 'direct',
      restrictions: {
        actions: { mode: 'allowlist', allowedActions: ['app.request'] },
        effects: { allowed: ['write'] },
      },
    },
  });
  const client = await connectClient(made.text('accessUrl'));
  const args = { method: 'POST', path: '/charges', body: { amount: 5, card: { number: '42' } } };
  const sent = await client.callTool({ name: 'app_request', arguments: args });
  expect(sent.isError).toBe(undefined);
  expect(app.seen[0]?.body).toBe('amount=5&card%5Bnumber%5D=42');
  const read = await client.callTool({ name: 'app_request', arguments: { method: 'GET', path: '/x' } });
  expect(read.isError).toBe(true);
  await client.close();
});
