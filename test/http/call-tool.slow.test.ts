import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { rpc, shop } from '../support/mcp.ts';
import { startService, type Answer, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

/* Tools that an operator calls as a user, by the checks that an agent of the user passes. */

const named = z.array(z.looseObject({ name: z.string() }));
const questions = z.record(z.string(), z.looseObject({ params: z.looseObject({ message: z.string() }) }));

describe.each(STORE_KINDS)('a call of a tool by REST, over %s', (kind) => {
  let service: Service;
  let one: Awaited<ReturnType<typeof shop>>;
  beforeAll(async () => {
    service = await startService({ kind, env: { GATEHOUSE_TEST_CONNECTORS: '1' } });
    one = await shop(service, {
      toolMode: 'direct',
      restrictions: {
        connectors: { allowedIds: ['sandbox', 'everything'] },
        actions: { blockedActions: ['sandbox.list_tickets', 'sandbox.create_ticket'] },
        confirm: ['destructive'],
      },
      budgets: [{ per: 'action', effect: 'write', limit: 1, window: '1h' }],
    });
  });
  afterAll(() => service.stop());

  const call = (body: object, options: { serverId?: string; bearer?: string } = {}): Promise<Answer> =>
    service.call('POST', `/api/servers/${options.serverId ?? one.serverId}/call-tool`, {
      body: { userId: one.userId, ...body },
      ...(options.bearer === undefined ? {} : { bearer: options.bearer }),
    });
  const made = async (requestId: string) => {
    await service.context.executions.flush();
    const list = await service.call('GET', `/api/executions?userId=${one.userId}&limit=50`);
    return z
      .array(z.looseObject({ requestId: z.string(), actionId: z.string() }))
      .parse(list.at('data'))
      .filter((row) => row.requestId === requestId);
  };

  test('a tool called by REST returns what MCP returns, and its execution names the key', async () => {
    const name = 'sandbox_list_products';
    const answer = await call({ name, arguments: { limit: 2 } });
    const direct = await rpc(one.accessUrl, 'tools/call', { name, arguments: { limit: 2 } });
    expect(answer.status).toBe(200);
    expect(answer.at('resultType')).toBe('complete');
    expect(answer.at('structuredContent')).toEqual(direct.at('result.structuredContent'));
    expect(answer.at('content')).toEqual(direct.at('result.content'));
    const key = await service.call('GET', '/api/keys');
    const [row] = await made(String(answer.headers.get('x-request-id')));
    expect(row).toMatchObject({
      caller: `key:${key.text('data.0.keyId')}`,
      serverId: one.serverId,
      userId: one.userId,
      actionId: 'list_products',
      outcome: 'succeeded',
    });
  });

  test('a tool called by REST may be built in, and its user is the owner by default', async () => {
    const { body } = await service.call('POST', `/api/servers/${one.serverId}/call-tool`, {
      body: { name: 'list_credentials_svc' },
    });
    expect(JSON.stringify(body)).toContain(one.credentialId);
  });

  test("a tool called by REST asks for the user's agreement and goes on with the answer", async () => {
    const name = 'sandbox_delete_customer';
    const args = { customerId: 'cus_1001' };
    const asked = await call({ name, arguments: args });
    expect([asked.status, asked.at('resultType')]).toEqual([200, 'input_required']);
    const { confirm } = questions.parse(asked.at('inputRequests'));
    expect(confirm?.params.message).toContain('"customerId": "cus_1001"');
    const requestState = asked.text('requestState');
    const inputResponses = { confirm: { action: 'accept', content: {} } };
    const altered = await call({ name, arguments: { customerId: 'cus_1002' }, requestState, inputResponses });
    expect([altered.status, altered.at('code')]).toEqual([400, 'request_state_invalid']);
    const done = await call({ name, arguments: args, requestState, inputResponses });
    expect([done.at('resultType'), done.at('isError')]).toEqual(['complete', undefined]);
    const twice = await call({ name, arguments: args, requestState, inputResponses });
    expect([twice.status, twice.at('code')]).toEqual([400, 'request_state_invalid']);
  });

  test('a declined agreement is an error of the tool', async () => {
    const name = 'sandbox_delete_customer';
    const asked = await call({ name, arguments: { customerId: 'cus_1002' } });
    const requestState = asked.text('requestState');
    const inputResponses = { confirm: { action: 'decline' } };
    const declined = await call({
      name,
      arguments: { customerId: 'cus_1002' },
      requestState,
      inputResponses,
    });
    expect(declined.status).toBe(200);
    expect(declined.at('isError')).toBe(true);
    expect(declined.at('structuredContent.error.code')).toBe('confirmation_declined');
  });

  test('an app asks the user during its call, and gets the answer', async () => {
    const name = 'test_elicitation';
    const args = { message: 'Which colour?' };
    const asked = await call({ name, arguments: args });
    const [key = ''] = Object.keys(questions.parse(asked.at('inputRequests')));
    const done = await call({
      name,
      arguments: args,
      requestState: asked.text('requestState'),
      inputResponses: { [key]: { action: 'accept', content: { response: 'green' } } },
    });
    expect(JSON.stringify(done.at('content'))).toContain('green');
  });

  test('a tool called by REST obeys restrictions and budgets', async () => {
    const denied = await call({ name: 'sandbox_create_ticket', arguments: { title: 'a', body: 'b' } });
    expect([denied.status, denied.at('code')]).toEqual([403, 'restricted']);
    expect(denied.at('details.rule')).toBe('actions.blockedActions');
    const send = (text: string) =>
      call({ name: 'sandbox_send_message', arguments: { to: 'ada@example.com', text } });
    expect((await send('first')).at('isError')).toBeUndefined();
    expect((await send('second')).at('structuredContent.error.code')).toBe('budget_exceeded');
  });

  test.each([
    ['an unknown tool', () => ({ name: 'sandbox_nope' }), 400, 'invalid_request'],
    ['an unknown user', () => ({ name: 'list_connectors_svc', userId: 'usr_x' }), 404, 'user_not_found'],
    ['an unknown member', () => ({ name: 'list_connectors_svc', input: {} }), 400, 'invalid_request'],
  ] as const)('%s is refused', async (_, body, status, code) => {
    const answer = await call(body());
    expect([answer.status, answer.at('code')]).toEqual([status, code]);
  });

  test('wrong arguments are an error of the tool with the field', async () => {
    const answer = await call({ name: 'sandbox_send_message', arguments: { to: 'ada' } });
    expect([answer.status, answer.at('isError')]).toEqual([200, true]);
    expect(JSON.stringify(answer.at('content'))).toContain('text');
  });

  test('a switched-off server, a disabled user and another environment are refused', async () => {
    const other = await shop(service);
    const body = { name: 'list_connectors_svc', userId: other.userId };
    const at = { serverId: other.serverId };
    const foreign = await call(body, { ...at, bearer: service.productionKey });
    expect([foreign.status, foreign.at('code')]).toEqual([404, 'server_not_found']);
    await service.call('PUT', `/users/${other.userId}`, { body: { enabled: false } });
    expect((await call(body, at)).at('code')).toBe('forbidden');
    await service.call('PUT', `/users/${other.userId}`, { body: { enabled: true } });
    await service.call('PUT', `/api/servers/${other.serverId}`, { body: { enabled: false } });
    const off = await call(body, at);
    expect([off.status, off.text('error')]).toEqual([403, 'This MCP server is switched off.']);
  });

  test('no answer holds the access token of the server', async () => {
    const answers = [
      await call({ name: 'list_connectors_svc' }),
      await call({ name: 'sandbox_list_orders' }),
    ];
    for (const { body } of answers) expect(JSON.stringify(body)).not.toContain(one.accessToken);
  });

  test('the list of tools is that of the named user', async () => {
    const path = `/api/servers/${one.serverId}/tools`;
    const listOf = async (userId: string) => {
      const answer = await service.call('GET', `${path}?limit=50&userId=${userId}`);
      return named.parse(answer.at('data')).map(({ name }) => name);
    };
    const other = (
      await service.call('POST', '/users', { body: { username: `second ${Math.random()}` } })
    ).text('userId');
    for (const key of ['a', 'b'])
      await service.call('POST', `/users/${other}/credentials`, {
        headers: { 'x-svc-userid': other },
        body: { connectorId: 'sandbox', data: { apiKey: `sandbox_${key}_${other.slice(4, 12)}` } },
      });
    const definition = { trigger: { type: 'manual' }, steps: [{ stepId: 'one', map: '1' }] };
    const workflow = await service.call('POST', '/workflows', {
      body: { name: `Count ${Math.random()}`, definition },
    });
    await service.call('POST', `/workflows/${workflow.text('workflowId')}/install?userId=${other}`, {
      body: {},
    });
    const [mine, theirs] = [await listOf(one.userId), await listOf(other)];
    expect(mine).not.toContain('set_default_credential_svc');
    expect(theirs).toContain('set_default_credential_svc');
    const count = (await service.call('GET', `${path}?limit=50&offset=50&userId=${other}`)).at('data');
    const all = [...theirs, ...named.parse(count).map(({ name }) => name)];
    expect(all.some((name) => name.startsWith('run_count'))).toBe(true);
    const listed = await rpc(one.url, 'tools/list', undefined, {
      headers: { authorization: `Bearer ${service.developmentKey}`, 'x-svc-userid': other },
    });
    expect(named.parse(listed.at('result.tools')).map(({ name }) => name)).toEqual(all);
    const absent = await service.call('GET', `${path}?userId=usr_x`);
    expect([absent.status, absent.at('code')]).toEqual([404, 'user_not_found']);
  });
});
