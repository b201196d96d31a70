import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY } from '../../src/lib/clock.ts';
import { parseJson, valueAt } from '../../src/lib/json.ts';
import { manualClock } from '../support/clock.ts';
import { rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
beforeAll(async () => {
  service = await startService();
  one = await shop(service, { restrictions: { connectors: { allowedIds: ['sandbox'] } } });
});
afterAll(() => service.stop());

const withKey = (headers: Record<string, string> = {}) => ({
  headers: { authorization: `Bearer ${service.developmentKey}`, ...headers },
});

test('HEAD of an MCP address is 405 with the allowed methods', async () => {
  const { accessUrl } = one;
  const byKey = accessUrl.slice(0, accessUrl.lastIndexOf('/'));
  for (const [url, init] of [
    [accessUrl, {}],
    [byKey, withKey()],
  ] as const) {
    const head = await fetch(url, { method: 'HEAD', ...init });
    expect([head.status, head.headers.get('allow')]).toEqual([405, 'POST, GET, DELETE, OPTIONS']);
  }
});

describe('a request without initialize on the token URL', () => {
  test('tools/list without initialize has built-in tools first, in a stable order', async () => {
    const first = await rpc(one.accessUrl, 'tools/list');
    const names = JSON.stringify(first.at('result.tools'));
    expect(first.status).toBe(200);
    expect(first.headers.get('content-type')).toBe('application/json');
    expect(first.headers.get('cache-control')).toBe('no-store');
    expect(first.headers.get('referrer-policy')).toBe('no-referrer');
    expect(first.at('result.tools.0.name')).toBe('list_connectors_svc');
    expect(names).toContain('"execute_action_svc"');
    expect(names).toContain('"sandbox_list_customers"');
    expect((await rpc(one.accessUrl, 'tools/list')).body).toEqual(first.body);
  });

  test.each([0, 7, '', 'abc', '0'])(
    'a request without initialize gets back its id %j as it was sent',
    async (id) => {
      expect((await rpc(one.accessUrl, 'tools/list', {}, { id })).at('id')).toBe(id);
      expect((await rpc(one.accessUrl, 'prompts/list', {}, { id })).at('id')).toBe(id);
    },
  );

  test('a call without initialize runs with the stored credential and reads all pages', async () => {
    const seen = new Set<unknown>();
    let offset = 0;
    for (;;) {
      const page = await rpc(one.accessUrl, 'tools/call', {
        name: 'execute_action_svc',
        arguments: { connectorId: 'sandbox', actionId: 'list_orders', parameters: { limit: 50, offset } },
      });
      const data = page.at('result.structuredContent.data');
      for (const record of Array.isArray(data) ? data : []) seen.add(JSON.stringify(record));
      if (page.at('result.structuredContent.pagination.hasMore') !== true) break;
      offset = Number(page.at('result.structuredContent.pagination.nextOffset'));
    }
    expect(seen.size).toBe(240);
  });

  test('a call without initialize gets faults by field and the schema', async () => {
    const answer = await rpc(one.accessUrl, 'tools/call', {
      name: 'execute_action_svc',
      arguments: { connectorId: 'sandbox', actionId: 'get_customer', parameters: { customer: 'x' } },
    });
    expect(answer.status).toBe(200);
    expect(answer.at('result.isError')).toBe(true);
    expect(answer.at('result.structuredContent.error.code')).toBe('invalid_request');
    expect(answer.at('result.structuredContent.error.details.faults')).toEqual(
      expect.arrayContaining([
        { field: 'customerId', rule: 'is required' },
        { field: 'customer', rule: 'is not a known parameter. Did you mean "customerId"?' },
      ]),
    );
    expect(answer.at('result.structuredContent.error.details.inputSchema.required')).toEqual(['customerId']);
  });

  test("a call without initialize gets the app's rejection as a tool error", async () => {
    const answer = await rpc(one.accessUrl, 'tools/call', {
      name: 'sandbox_get_customer',
      arguments: { customerId: 'cus_0' },
    });
    expect(answer.at('result.isError')).toBe(true);
    expect(answer.at('result.structuredContent.error')).toMatchObject({
      code: 'upstream_rejected',
      details: { status: 404 },
    });
  });

  test('a search without initialize finds actions by plain words', async () => {
    const answer = await rpc(one.accessUrl, 'tools/call', {
      name: 'search_actions_svc',
      arguments: { query: 'add a new customer', limit: 3 },
    });
    expect(answer.at('result.structuredContent.actions.0')).toMatchObject({
      connectorId: 'sandbox',
      actionId: 'create_customer',
      connected: true,
    });
  });

  test('a request without initialize reads actions, connectors and accounts', async () => {
    const call = (name: string, args: object) => rpc(one.accessUrl, 'tools/call', { name, arguments: args });
    const action = await call('get_action_svc', {
      actions: [{ connectorId: 'sandbox', actionId: 'create_customer' }],
    });
    expect(action.at('result.structuredContent.actions.0.example.parameters.email')).toContain('@');
    const connector = await call('get_connector_svc', { connectorId: 'sandbox' });
    expect(connector.at('result.structuredContent')).toMatchObject({
      connectorId: 'sandbox',
      connected: true,
      authentication: ['api_key', 'oauth2'],
    });
    const accounts = await call('list_credentials_svc', {});
    expect(accounts.at('result.structuredContent.credentials.0')).toMatchObject({
      credentialId: one.credentialId,
      state: 'active',
    });
    expect(JSON.stringify(accounts.body)).not.toContain(one.apiKey);
  });

  test('a request without initialize reads resources and prompts', async () => {
    const list = await rpc(one.accessUrl, 'resources/read', {
      uri: 'svc://connectors/sandbox/actions/get_order',
    });
    expect(JSON.parse(String(list.at('result.contents.0.text')))).toMatchObject({
      actionId: 'get_order',
      effect: 'read',
    });
    const prompt = await rpc(one.accessUrl, 'prompts/get', {
      name: 'use_connector',
      arguments: { connectorId: 'sandbox', goal: 'count orders' },
    });
    expect(String(prompt.at('result.messages.0.content.text'))).toContain('count orders');
    const completed = await rpc(one.accessUrl, 'completion/complete', {
      ref: { type: 'ref/prompt', name: 'use_connector' },
      argument: { name: 'connectorId', value: 'sand' },
    });
    expect(completed.at('result.completion.values')).toEqual(['sandbox']);
  });

  test('a large result without initialize is stored and returned page by page', async () => {
    const { toResultText, INLINE_BYTES } = await import('../../src/mcp/answers/results.ts');
    const live = await service.context.servers.byId('development', one.serverId);
    if (!live) throw new Error('no server');
    const grant = {
      environment: 'development' as const,
      live,
      caller: `token:${one.serverId}`,
      userId: one.userId,
      credentialHeader: undefined,
      endsAt: Infinity,
      redirectUri: undefined,
    };
    const large = parseJson(
      await toResultText(
        { context: service.context, grant, corrections: [] },
        { data: 'x'.repeat(INLINE_BYTES * 2) },
      ),
    );
    const uri = String(valueAt(large, 'content.1.uri'));
    const whole: string[] = [];
    for (let page = 1; page <= 3; page++) {
      const read = await rpc(one.accessUrl, 'resources/read', { uri: `${uri}?page=${page}` });
      whole.push(String(read.at('result.contents.0.text')));
    }
    expect(JSON.parse(whole.join(''))).toEqual({ data: 'x'.repeat(INLINE_BYTES * 2) });
  });
});

describe('an invalid request gets the codes of the contract', () => {
  test.each([
    ['{"jsonrpc":"2.0",', 400, -32700],
    ['not json', 400, -32700],
    [`${'['.repeat(5000)}${']'.repeat(5000)}`, 400, -32700],
    ['{"jsonrpc":"1.0","id":1,"method":"tools/list"}', 400, -32600],
    ['{"id":1,"method":"tools/list"}', 400, -32600],
    ['{"jsonrpc":"2.0","method":"tools/list"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":null,"method":"tools/list"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', 400, -32600],
    ['[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/nope"}', 200, -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call"}', 200, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":"y"}}', 200, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such_tool"}}', 200, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"no_such_prompt"}}', 200, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"forged"}}', 200, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"svc://nowhere"}}', 200, -32002],
  ])('the invalid request %.60s gets %i and %i', async (raw, status, code) => {
    const answer = await rpc(one.accessUrl, '', undefined, { raw });
    expect([answer.status, answer.at('error.code')]).toEqual([status, code]);
  });

  test('a body over 1 MiB is 413', async () => {
    const answer = await rpc(one.accessUrl, '', undefined, { raw: `"${'x'.repeat(1024 * 1024)}"` });
    expect([answer.status, answer.at('error.data.code')]).toEqual([413, 'payload_too_large']);
  });

  test('missing Accept and Content-Type have defaults, wrong ones are rejected', async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    const send = (headers: Record<string, string>) =>
      rpc(one.accessUrl, '', undefined, { raw: body, headers });
    expect((await send({ accept: '*/*' })).status).toBe(200);
    expect((await send({ accept: 'text/*' })).headers.get('content-type')).toBe('text/event-stream');
    expect((await send({ accept: 'text/event-stream' })).at('result.tools.0.name')).toBe(
      'list_connectors_svc',
    );
    expect(await send({ accept: 'application/json' })).toMatchObject({
      status: 406,
      body: { error: { data: { code: 'not_acceptable' } } },
    });
    expect(await send({ 'content-type': 'text/plain' })).toMatchObject({ status: 415 });
  });

  test('notifications are 202, GET and DELETE without a session 405', async () => {
    expect(
      (
        await rpc(one.accessUrl, '', undefined, {
          raw: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        })
      ).status,
    ).toBe(202);
    for (const method of ['GET', 'PUT', 'PATCH']) {
      const answer = await fetch(one.accessUrl, { method, headers: { accept: 'text/event-stream' } });
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, GET, DELETE, OPTIONS']);
    }
  });

  test('a foreign Origin or Host is 403, our own and loopback ones are not', async () => {
    const origin = (value: string) => rpc(one.accessUrl, 'tools/list', {}, { headers: { origin: value } });
    expect((await origin('https://evil.example')).status).toBe(403);
    expect((await origin('null')).status).toBe(403);
    expect((await origin('http://localhost:6274')).headers.get('access-control-allow-origin')).toBe(
      'http://localhost:6274',
    );
    await service.call('PUT', '/api/settings', { body: { origins: ['https://app.example.com'] } });
    expect((await origin('https://app.example.com')).status).toBe(200);
    const preflight = await fetch(one.accessUrl, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example.com' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([
      204,
      'https://app.example.com',
    ]);
  });
});

describe('authentication', () => {
  test('an unknown server and a wrong token get the same answer', async () => {
    const wrong = await rpc(`${one.url}/gh_mcp_${'A'.repeat(43)}`, 'tools/list');
    const unknown = await rpc(one.accessUrl.replace(one.serverId, 'srv_unknown'), 'tools/list');
    const junk = await rpc(`${one.url}/junk`, 'tools/list');
    for (const answer of [wrong, unknown, junk]) {
      expect([answer.status, answer.at('error.code'), answer.at('error.message')]).toEqual([
        401,
        -32001,
        wrong.at('error.message'),
      ]);
      expect(answer.headers.get('www-authenticate')).toBeNull();
    }
  });

  test('an expired token is 401 token_expired', async () => {
    const clock = manualClock();
    const own = await startService({ clock });
    try {
      const expiring = await shop(own, { tokenExpiresInDays: 1 });
      clock.advance(DAY - 1000);
      expect((await rpc(expiring.accessUrl, 'tools/list')).status).toBe(200);
      clock.advance(2000);
      const late = await rpc(expiring.accessUrl, 'tools/list');
      expect([late.status, late.at('error.data.code')]).toEqual([401, 'token_expired']);
    } finally {
      await own.stop();
    }
  });

  test('a rotated token ends the old address at once', async () => {
    const rotating = await shop(service);
    const fresh = await service.call('POST', `/api/servers/${rotating.serverId}/token`, { body: {} });
    expect((await rpc(rotating.accessUrl, 'tools/list')).status).toBe(401);
    expect((await rpc(fresh.text('accessUrl'), 'tools/list')).status).toBe(200);
  });

  test('the API-key URL accepts a key with a user, the token, and a JWT', async () => {
    expect((await rpc(one.url, 'tools/list', {}, withKey({ 'x-svc-userid': one.userId }))).status).toBe(200);
    expect(
      (await rpc(one.url, 'tools/list', {}, { headers: { authorization: `Bearer ${one.accessToken}` } }))
        .status,
    ).toBe(200);
    const jwt = (await service.call('GET', `/2023-12/user/${one.userId}/token`)).text('token');
    expect(
      (await rpc(one.url, 'tools/list', {}, { headers: { authorization: `Bearer ${jwt}` } })).status,
    ).toBe(200);
  });

  test.each([
    ['no bearer', {}, 401, 'unauthorized'],
    ['a wrong key', { authorization: 'Bearer gh_dev_wrong' }, 401, 'unauthorized'],
  ])('%s is %i with a challenge', async (_, headers, status, code) => {
    const answer = await rpc(one.url, 'tools/list', {}, { headers });
    expect([answer.status, answer.at('error.data.code')]).toEqual([status, code]);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });

  test('a key needs x-svc-userid with an existing user', async () => {
    const missing = await rpc(one.url, 'tools/list', {}, withKey());
    expect([missing.status, missing.at('error.data.code')]).toEqual([400, 'user_id_missing']);
    const unknown = await rpc(one.url, 'tools/list', {}, withKey({ 'x-svc-userid': 'usr_nobody' }));
    expect([unknown.status, unknown.at('error.data.code')]).toEqual([400, 'user_not_found']);
  });

  test('a server of the other environment is 404', async () => {
    const headers = { authorization: `Bearer ${service.productionKey}`, 'x-svc-userid': one.userId };
    const answer = await rpc(one.url, 'tools/list', {}, { headers });
    expect([answer.status, answer.at('error.code'), answer.at('error.data.code')]).toEqual([
      404,
      -32004,
      'server_not_found',
    ]);
  });

  test('a disabled server is 403', async () => {
    const off = await shop(service);
    await service.call('PUT', `/api/servers/${off.serverId}`, { body: { enabled: false } });
    const answer = await rpc(off.accessUrl, 'tools/list');
    expect([answer.status, answer.at('error.code')]).toEqual([403, -32003]);
  });

  test('the log contains no access token and no key', () => {
    const log = service.logged.join('');
    expect(log).not.toContain(one.accessToken);
    expect(log).not.toContain(service.developmentKey);
    expect(log).not.toContain(one.apiKey);
    expect(log).toContain('/mcp/{serverId}/{accessToken}');
  });
});

describe('isolation of users', () => {
  test('a JWT acts only for its own user', async () => {
    const other = await shop(service);
    const jwt = (await service.call('GET', `/2023-12/user/${one.userId}/token`)).text('token');
    const crossed = await rpc(
      other.accessUrl,
      'tools/list',
      {},
      { headers: { 'x-svc-user-token': jwt, 'x-svc-userid': other.userId } },
    );
    expect([crossed.status, crossed.at('error.code')]).toEqual([403, -32003]);
    const through = await rpc(
      other.accessUrl,
      'tools/call',
      { name: 'list_credentials_svc', arguments: {} },
      { headers: { 'x-svc-user-token': jwt } },
    );
    expect(through.at('result.structuredContent.credentials.0.credentialId')).toBe(one.credentialId);
    const forged = await rpc(
      other.accessUrl,
      'tools/list',
      {},
      { headers: { 'x-svc-user-token': `${jwt.slice(0, -2)}xx` } },
    );
    expect(forged.status).toBe(401);
  });

  test('another user’s credential is not found, and nothing is sent', async () => {
    const other = await shop(service);
    const args = { connectorId: 'sandbox', actionId: 'list_customers', credentialId: other.credentialId };
    const byArgument = await rpc(one.accessUrl, 'tools/call', {
      name: 'execute_action_svc',
      arguments: args,
    });
    expect(byArgument.at('result.structuredContent.error.code')).toBe('credential_not_found');
    const byHeader = await rpc(
      one.accessUrl,
      'tools/call',
      { name: 'sandbox_list_customers', arguments: {} },
      { headers: { 'x-credential-id': other.credentialId } },
    );
    expect(byHeader.at('result.structuredContent.error.code')).toBe('credential_not_found');
  });

  test('a server that a JWT created serves only its owner, with any token', async () => {
    const owner = await shop(service);
    const jwt = (await service.call('GET', `/2023-12/user/${owner.userId}/token`)).text('token');
    const bound = await service.call('POST', '/api/servers', {
      bearer: jwt,
      body: { name: `bound ${owner.serverId}` },
    });
    const url = bound.text('url');
    expect((await rpc(bound.text('accessUrl'), 'tools/list')).status).toBe(200);
    const otherJwt = (await service.call('GET', `/2023-12/user/${one.userId}/token`)).text('token');
    const tries = [
      rpc(bound.text('accessUrl'), 'tools/list', {}, { headers: { 'x-svc-userid': one.userId } }),
      rpc(bound.text('accessUrl'), 'tools/list', {}, { headers: { 'x-svc-user-token': otherJwt } }),
      rpc(url, 'tools/list', {}, withKey({ 'x-svc-userid': one.userId })),
      rpc(url, 'tools/list', {}, { headers: { authorization: `Bearer ${otherJwt}` } }),
      rpc(url, 'initialize', { protocolVersion: '2025-11-25' }, withKey({ 'x-svc-userid': one.userId })),
    ];
    for (const answer of await Promise.all(tries))
      expect([answer.status, answer.at('error.code')]).toEqual([403, -32003]);
  });

  test('a user with two accounts of an app chooses one by the header', async () => {
    const rich = await shop(service);
    const second = await service.call('POST', `/users/${rich.userId}/credentials`, {
      headers: { 'x-svc-userid': rich.userId },
      body: { connectorId: 'sandbox', data: { apiKey: 'sandbox_second' }, name: 'Second' },
    });
    const call = (headers: Record<string, string> = {}, credentialId?: string) =>
      rpc(
        rich.accessUrl,
        'tools/call',
        {
          name: 'execute_action_svc',
          arguments: {
            connectorId: 'sandbox',
            actionId: 'list_products',
            parameters: { limit: 1 },
            ...(credentialId ? { credentialId } : {}),
          },
        },
        { headers },
      );
    const open = await call();
    expect(open.at('result.structuredContent.error.code')).toBe('credential_ambiguous');
    expect(open.at('result.structuredContent.error.details.credentials')).toHaveLength(2);
    expect(
      (await call({ 'x-credential-id': second.text('credentialId') })).at('result.isError'),
    ).toBeUndefined();
    const conflict = await call({ 'x-credential-id': second.text('credentialId') }, rich.credentialId);
    expect(conflict.at('result.structuredContent.error.code')).toBe('credential_conflict');
  });
});

describe('limits', () => {
  test('each caller has its own limit, with headers and Retry-After', async () => {
    const own = await startService({ env: { GATEHOUSE_RATE_LIMIT_MCP: '3/60s' } });
    try {
      const limited = await shop(own);
      const answers = [];
      for (let n = 0; n < 4; n++) answers.push(await rpc(limited.accessUrl, 'tools/list'));
      expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 429]);
      expect(answers[0]?.headers.get('ratelimit-limit')).toBe('3');
      expect(answers[0]?.headers.get('ratelimit-remaining')).toBe('2');
      const [last] = answers.slice(-1);
      expect([last?.at('error.code'), last?.at('error.data.code')]).toEqual([-32009, 'rate_limited']);
      expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
      const key = { authorization: `Bearer ${own.developmentKey}`, 'x-svc-userid': limited.userId };
      expect((await rpc(limited.url, 'tools/list', {}, { headers: key })).status).toBe(200);
    } finally {
      await own.stop();
    }
  });

  test('an address with 30 failed attempts in a minute is 429', async () => {
    const own = await startService();
    try {
      const statuses: number[] = [];
      for (let n = 0; n < 32; n++)
        statuses.push((await rpc(`${own.url}/mcp/srv_x/wrong`, 'tools/list')).status);
      expect(statuses.slice(0, 30).every((status) => status === 401)).toBe(true);
      expect(statuses.at(-1)).toBe(429);
      expect((await own.call('GET', '/api/servers', { bearer: 'wrong' })).status).toBe(429);
      expect((await own.call('GET', '/api/servers')).status).toBe(200);
    } finally {
      await own.stop();
    }
  });
});
