import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { HOUR, MINUTE } from '../../src/lib/clock.ts';
import { valueAt, type Json, type JsonObject } from '../../src/lib/json.ts';
import { manualClock } from '../support/clock.ts';
import { connectClient, rpc, shop, type RpcAnswer } from '../support/mcp.ts';
import { modern } from '../support/modern.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

/* A server whose destructive calls wait for the agreement of their user. These clients cannot ask the user. */
describe.each(STORE_KINDS)('without a client that asks its user, over %s', (kind) => {
  const clock = manualClock();
  let services: Service[];
  let one: Awaited<ReturnType<typeof shop>>;
  beforeAll(async () => {
    const service = await startService({ kind, clock });
    services = [service, await startService({ env: service.env, clock })];
    one = await shop(first(), { toolMode: 'direct', restrictions: { confirm: ['destructive'] } });
  });
  afterAll(async () => {
    for (const service of services.toReversed()) await service.stop();
  });
  const first = () => at(0);
  const at = (index: number): Service => {
    const service = services[index];
    if (!service) throw new Error('no such service');
    return service;
  };

  const execute = (args: object, service = first(), url = one.accessUrl) =>
    rpc(url.replace(first().url, service.url), 'tools/call', { name: 'execute_action_svc', arguments: args });
  const wish = (customerId: string) => ({
    connectorId: 'sandbox',
    actionId: 'delete_customer',
    parameters: { customerId },
  });
  const tokenFor = async (customerId: string) => {
    const asked = await execute(wish(customerId));
    expect(asked.at('result.structuredContent.error.code')).toBe('confirmation_required');
    return String(asked.at('result.structuredContent.error.details.confirmationToken'));
  };
  const outcome = (answer: { at(path: string): Json | undefined }) =>
    answer.at('result.structuredContent.error.details.reason') ??
    answer.at('result.structuredContent.error.code') ??
    'ran';
  const isThere = async (customerId: string) => {
    const read = await execute({ ...wish(customerId), actionId: 'get_customer' });
    return read.at('result.isError') !== true;
  };

  test('a rejected call returns a token that runs it once', async () => {
    const asked = await execute(wish('cus_1001'));
    expect(asked.at('result.isError')).toBe(true);
    const error = asked.at('result.structuredContent.error.details');
    expect(error).toMatchObject({ rule: 'confirm', effect: 'destructive', actionId: 'delete_customer' });
    const token = String(asked.at('result.structuredContent.error.details.confirmationToken'));
    expect(asked.at('result.content.0.text')).toContain(token);
    expect(await isThere('cus_1001')).toBe(true);

    expect(outcome(await execute({ ...wish('cus_1001'), confirmationToken: token }))).toBe('ran');
    expect(await isThere('cus_1001')).toBe(false);
    expect(outcome(await execute({ ...wish('cus_1001'), confirmationToken: token }))).toBe('spent');
  });

  test('a token is valid at every process', async () => {
    const token = await tokenFor('cus_1002');
    const answers = await Promise.all(
      [0, 1, 0, 1].map((index) => execute({ ...wish('cus_1002'), confirmationToken: token }, at(index))),
    );
    expect(answers.map(outcome).sort()).toEqual(['ran', 'spent', 'spent', 'spent']);
  });

  test('a direct tool accepts a token next to its own arguments', async () => {
    const tool = (args: object) =>
      rpc(one.accessUrl, 'tools/call', { name: 'sandbox_delete_customer', arguments: args });
    const asked = await tool({ customerId: 'cus_1003' });
    const confirmationToken = asked.at('result.structuredContent.error.details.confirmationToken');
    expect(outcome(await tool({ customerId: 'cus_1003', confirmationToken }))).toBe('ran');
  });

  test('a token is valid only for its arguments, action, server and account', async () => {
    const token = await tokenFor('cus_1004');
    const other = await shop(first(), { restrictions: { confirm: ['destructive', 'write'] } });
    const answers = [
      await execute({ ...wish('cus_1005'), confirmationToken: token }),
      await execute({ ...wish('cus_1004'), confirmationToken: token }, first(), other.accessUrl),
      await execute(
        {
          connectorId: 'sandbox',
          actionId: 'send_message',
          parameters: { to: 'cus_1001', text: 'a' },
          confirmationToken: token,
        },
        first(),
        other.accessUrl,
      ),
    ];
    expect(answers.map(outcome).slice(0, 2)).toEqual(['altered', 'altered']);
    expect(answers[2]?.at('result.isError')).toBe(true);
    const second = (
      await first().call('POST', `/users/${one.userId}/credentials`, {
        headers: { 'x-svc-userid': one.userId },
        body: { connectorId: 'sandbox', data: { apiKey: 'sandbox_second' } },
      })
    ).text('credentialId');
    const { credentialId } = one;
    expect(outcome(await execute({ ...wish('cus_1004'), credentialId, confirmationToken: token }))).toBe(
      'ran',
    );
    const moved = await execute({ ...wish('cus_1006'), credentialId });
    const confirmationToken = moved.at('result.structuredContent.error.details.confirmationToken');
    expect(outcome(await execute({ ...wish('cus_1006'), credentialId: second, confirmationToken }))).toBe(
      'altered',
    );
    await first().call('DELETE', `/users/${one.userId}/credentials/${second}`, {
      headers: { 'x-svc-userid': one.userId },
    });
  });

  test('an altered token is rejected', async () => {
    const token = await tokenFor('cus_1007');
    const changed = [...token].map((character, index) => {
      const other = character === 'A' ? 'B' : 'A';
      return token.slice(0, index) + other + token.slice(index + 1);
    });
    const tried = [...changed, '', 'gh_confirm_', `${token}A`, token.slice(0, -1)];
    const outcomes = new Set<unknown>();
    for (const one of tried)
      outcomes.add(outcome(await execute({ ...wish('cus_1007'), confirmationToken: one })));
    expect([...outcomes]).toEqual(['altered']);
    expect(await isThere('cus_1007')).toBe(true);
  });

  test('a token expires after ten minutes', async () => {
    const token = await tokenFor('cus_1008');
    clock.advance(10 * MINUTE);
    expect(outcome(await execute({ ...wish('cus_1008'), confirmationToken: token }))).toBe('expired');
    clock.advance(HOUR);
  });

  test('wrong input is rejected before the user is asked', async () => {
    const wrong = await execute({ ...wish(''), parameters: {} });
    expect(outcome(wrong)).toBe('invalid_request');
  });

  test('a question and the run after it are separate executions', async () => {
    clock.advance(MINUTE);
    const token = await tokenFor('cus_1009');
    clock.advance(MINUTE);
    await execute({ ...wish('cus_1009'), confirmationToken: token });
    await first().context.executions.flush();
    const rows = await first().call('GET', `/api/executions?serverId=${one.serverId}&limit=2`);
    expect(rows.body).toMatchObject({
      data: [
        { outcome: 'succeeded' },
        { outcome: 'denied', rule: 'confirm', errorCode: 'confirmation_required' },
      ],
    });
  });
});

describe('a restriction on effects', () => {
  let service: Service;
  let one: Awaited<ReturnType<typeof shop>>;
  beforeAll(async () => {
    service = await startService();
    one = await shop(service, { toolMode: 'direct' });
  });
  afterAll(() => service.stop());
  afterEach(() => restrict({}));
  const restrict = async (restrictions: object) => {
    const answer = await service.call('PUT', `/api/servers/${one.serverId}`, { body: { restrictions } });
    expect(answer.status).toBe(200);
    return answer;
  };

  test('a restriction on effects leaves only reads to the official client', async () => {
    const changed = await restrict({ effects: { allowed: ['read'] } });
    expect(changed.at('hasRestrictions')).toBe(true);
    const client = await connectClient(one.accessUrl);
    const { tools } = await client.listTools();
    const direct = tools.filter(({ name }) => !name.endsWith('_svc'));
    expect(direct.length).toBeGreaterThan(5);
    expect(direct.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
    const refused = await client.callTool({
      name: 'execute_action_svc',
      arguments: {
        connectorId: 'sandbox',
        actionId: 'delete_customer',
        parameters: { customerId: 'cus_1001' },
      },
    });
    expect(refused.structuredContent).toMatchObject({
      error: { code: 'restricted', details: { rule: 'effects.allowed' } },
    });
    await expect(
      client.callTool({ name: 'sandbox_delete_customer', arguments: { customerId: 'cus_1001' } }),
    ).rejects.toThrow('effects.allowed');
    await client.close();
  });

  test.each([
    [{ effects: { allowed: ['delete'] } }, 'restrictions.effects.allowed.0'],
    [{ effects: { blocked: ['read'] } }, 'restrictions.effects.blocked'],
    [{ confirm: true }, 'restrictions.confirm'],
  ])('a restriction on effects that is written as %j is 400', async (restrictions, field) => {
    const answer = await service.call('PUT', `/api/servers/${one.serverId}`, { body: { restrictions } });
    expect(answer.status).toBe(400);
    expect(answer.text('error')).toContain(field);
  });
});

describe('a client that asks its user', () => {
  let service: Service;
  let one: Awaited<ReturnType<typeof shop>>;
  beforeAll(async () => {
    service = await startService();
    one = await shop(service, {
      toolMode: 'direct',
      restrictions: { connectors: { allowedIds: ['sandbox'] }, confirm: ['destructive', 'write'] },
    });
  });
  afterAll(() => service.stop());

  /** Returns the official client in a session whose user answers like this. */
  async function asking(answer: (message: string) => 'accept' | 'decline' | 'cancel') {
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
    const asked: string[] = [];
    client.setRequestHandler(ElicitRequestSchema, ({ params: { message } }) => {
      asked.push(message);
      return { action: answer(message), content: {} };
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(one.accessUrl)));
    return { client, asked };
  }
  const remove = (client: Client, customerId: string) =>
    client.callTool({ name: 'sandbox_delete_customer', arguments: { customerId } });

  test('a client that asks its user runs each call that the user accepts', async () => {
    const { client, asked } = await asking(() => 'accept');
    expect((await remove(client, 'cus_1001')).isError).toBeUndefined();
    expect((await remove(client, 'cus_1002')).isError).toBeUndefined();
    expect(asked).toEqual([
      expect.stringMatching(/"Delete customer" in Sandbox.*destructive[^]*"customerId": "cus_1001"/),
      expect.stringContaining('cus_1002'),
    ]);
    const read = await client.callTool({ name: 'sandbox_get_product', arguments: { productId: 'prd_101' } });
    expect([read.isError, asked.length]).toEqual([undefined, 2]);
    await client.close();
  });

  test.each(['decline', 'cancel'] as const)(
    'a client that asks its user sends nothing when the user answers %s',
    async (action) => {
      const { client, asked } = await asking(() => action);
      const refused = await remove(client, 'cus_1003');
      expect(refused.structuredContent).toMatchObject({
        error: { code: 'confirmation_declined', details: { rule: 'confirm' } },
      });
      expect(asked).toHaveLength(1);
      const read = await client.callTool({
        name: 'sandbox_get_customer',
        arguments: { customerId: 'cus_1003' },
      });
      expect(read.isError).toBeUndefined();
      await client.close();
    },
  );

  test('a question writes out hidden characters and cannot be made to hide parameters', async () => {
    const { client, asked } = await asking(() => 'decline');
    await client.callTool({
      name: 'sandbox_create_ticket',
      arguments: { title: 'hello\u202E\u200B', body: '\u200B'.repeat(1000) },
    });
    expect(asked[0]).toContain('\\u{202E}');
    expect(asked[0]).toMatch(/(\\u\{200B\}){150}" … 700 characters left out … "(\\u\{200B\}){150}"/);
    await client.close();
  });

  describe('between two requests of MCP 2026-07-28', () => {
    const asks = { capabilities: { elicitation: { form: {} } } };
    const call = (customerId: string, more: JsonObject = {}) =>
      modern(
        one.accessUrl,
        'tools/call',
        { name: 'sandbox_delete_customer', arguments: { customerId }, ...more },
        asks,
      );
    const answered = (asked: RpcAnswer, action: string) => ({
      inputResponses: { confirm: { action, content: {} } },
      requestState: asked.at('result.requestState') ?? null,
    });

    test('an agreement between two requests runs its call once when the answer arrives', async () => {
      const asked = await call('cus_1010');
      expect(asked.at('result')).toMatchObject({
        resultType: 'input_required',
        inputRequests: { confirm: { method: 'elicitation/create' } },
      });
      const answer = answered(asked, 'accept');
      const done = await call('cus_1010', answer);
      expect(done.at('result.isError')).toBeUndefined();
      const again = await call('cus_1010', answer);
      expect(again.at('error.data.code')).toBe('request_state_invalid');
      expect(again.at('error.message')).toContain('One agreement allows one call');
    });

    test('an agreement does nothing after a refusal or with other arguments', async () => {
      const asked = await call('cus_1011');
      const declined = await call('cus_1011', answered(asked, 'decline'));
      expect(declined.at('result.structuredContent.error.code')).toBe('confirmation_declined');
      const other = await call('cus_1012', answered(asked, 'accept'));
      expect(other.at('error.data.code')).toBe('request_state_invalid');
    });

    test('an agreement is asked for again when the account of the call has changed', async () => {
      const asked = await call('cus_1013');
      const headers = { 'x-svc-userid': one.userId };
      const made = await service.call('POST', `/users/${one.userId}/credentials`, {
        headers,
        body: { connectorId: 'sandbox', data: { apiKey: 'sandbox_other' } },
      });
      await service.call('DELETE', `/users/${one.userId}/credentials/${one.credentialId}`, { headers });
      const moved = await call('cus_1013', answered(asked, 'accept'));
      expect(moved.at('result.resultType')).toBe('input_required');
      expect(made.status).toBe(201);
    });

    test('a client that cannot ask its user gets a confirmation token', async () => {
      const bare = await modern(one.accessUrl, 'tools/call', {
        name: 'sandbox_delete_customer',
        arguments: { customerId: 'cus_1014' },
      });
      expect(bare.at('result.structuredContent.error.details.confirmationToken')).toMatch(/^gh_confirm_/);
    });
  });

  test('a client reads in advance which actions need agreement', async () => {
    const read = await rpc(one.accessUrl, 'tools/call', {
      name: 'get_action_svc',
      arguments: {
        actions: ['delete_customer', 'get_customer'].map((actionId) => ({
          connectorId: 'sandbox',
          actionId,
        })),
      },
    });
    const [asking, plain] = [0, 1].map((at) =>
      read.at(`result.structuredContent.actions.${at}.confirmation`),
    );
    expect([asking, plain]).toEqual([expect.stringContaining('agreed'), undefined]);
  });

  test('a refused call leaves executions with outcome denied, and no error in the log', async () => {
    await service.context.executions.flush();
    const rows = await service.call('GET', `/api/executions?serverId=${one.serverId}`);
    const found = rows.at('data');
    const codes = new Set(Array.isArray(found) ? found.map((row) => valueAt(row, 'errorCode')) : []);
    expect([...codes].sort()).toEqual([
      'confirmation_declined',
      'confirmation_required',
      null,
      'request_state_invalid',
    ]);
    expect(service.logged.join('')).not.toContain('MCP request failed');
  });
});
