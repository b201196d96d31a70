import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runGuarded, type GuardedWrite } from '../../src/actions/duplicate-guard.ts';
import { MINUTE, SECOND } from '../../src/lib/clock.ts';
import { GatehouseError } from '../../src/lib/errors.ts';
import { LEASE_MS } from '../../src/runtime/lease.ts';
import { manualClock } from '../support/clock.ts';
import { connectClient, rpc, shop, type RpcAnswer } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

/* Equal writes over MCP, in two processes over one store. */
describe.each(STORE_KINDS)('an equal write on %s', (kind) => {
  const clock = manualClock();
  let services: [Service, Service];
  let one: Awaited<ReturnType<typeof shop>>;
  let count = 0;
  beforeAll(async () => {
    const service = await startService({ kind, clock });
    services = [service, await startService({ env: service.env, clock })];
    one = await shop(service, { toolMode: 'direct' });
  });
  afterAll(async () => {
    for (const service of services.toReversed()) await service.stop();
  });

  const execute = (args: object, { url = one.accessUrl, at = services[0] } = {}) =>
    rpc(url.replace(services[0].url, at.url), 'tools/call', { name: 'execute_action_svc', arguments: args });
  const message = (text = `message ${++count}`) => ({
    connectorId: 'sandbox',
    actionId: 'send_message',
    parameters: { to: 'ada@example.com', text },
  });
  const codeOf = (answer: RpcAnswer) => answer.at('result.structuredContent.error.code') ?? 'ran';
  /** Counts the messages of a text. All processes share the sandbox. */
  const sentTimes = async (text: string) => {
    const list = { connectorId: 'sandbox', actionId: 'list_messages', credentialId: one.credentialId };
    const { body } = await execute(list, { at: services[1] });
    return JSON.stringify(body).split(`"text":"${text}"`).length - 1;
  };

  test('an equal write is held for ten minutes, in every process', async () => {
    const call = message('held');
    const first = await execute(call);
    clock.advance(20 * SECOND);
    const second = await execute(call, { at: services[1] });
    expect(second.at('result.isError')).toBe(true);
    const details = second.at('result.structuredContent.error.details');
    expect(details).toEqual({ executionId: expect.stringMatching(/^exe_/), secondsAgo: 20 });
    const id = String(first.at('result.structuredContent.data.id'));
    expect(id).toMatch(/^msg_/);
    expect(second.at('result.content.0.text')).toContain(
      `This was done 20 s ago as ${id}; call again with \`again: true\``,
    );
    const { executionId } = Object(details);
    const row = await services[0].call('GET', `/api/executions/${executionId}`);
    expect(row.body).toMatchObject({ actionId: 'send_message', outcome: 'succeeded' });

    clock.advance(10 * MINUTE - 21 * SECOND);
    expect(codeOf(await execute(call))).toBe('possible_duplicate');
    expect(await sentTimes('held')).toBe(1);
    clock.advance(SECOND);
    expect(codeOf(await execute(call))).toBe('ran');
    expect(await sentTimes('held')).toBe(2);
  });

  test('an equal write runs with again, and later refusals name the newest one', async () => {
    const call = message('again');
    await execute(call);
    clock.advance(MINUTE);
    const repeated = await execute({ ...call, again: true });
    clock.advance(5 * SECOND);
    const held = await execute(call, { at: services[1] });
    expect(held.at('result.structuredContent.error.details.secondsAgo')).toBe(5);
    expect(held.at('result.content.0.text')).toContain(
      String(repeated.at('result.structuredContent.data.id')),
    );
    expect(await sentTimes('again')).toBe(2);
  });

  test('an equal write runs once when two processes get it many times at once', async () => {
    const call = message('at once');
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => execute(call, { at: services[index % 2 === 0 ? 0 : 1] })),
    );
    const codes = answers.map(codeOf).toSorted();
    expect(codes).toEqual([...Array.from({ length: 7 }, () => 'possible_duplicate'), 'ran']);
    expect(await sentTimes('at once')).toBe(1);
  });

  test('an equal write in one batch runs once, and with again once more', async () => {
    const call = message('batch');
    const held = async (calls: object[]) => {
      const batch = await rpc(one.accessUrl, 'tools/call', {
        name: 'execute_batch_svc',
        arguments: { calls },
      });
      return (
        JSON.stringify(batch.at('result.structuredContent.results')).split('possible_duplicate').length - 1
      );
    };
    expect(await held([call, call])).toBe(1);
    expect(await held([call, { ...call, again: true }])).toBe(1);
    expect(await sentTimes('batch')).toBe(2);
  });

  test('an equal write is held in any order of members and as a direct tool', async () => {
    await execute(message('direct'));
    const client = await connectClient(one.accessUrl);
    const call = (args: object) =>
      client.callTool({
        name: 'sandbox_send_message',
        arguments: { text: 'direct', to: 'ada@example.com', ...args },
      });
    expect((await call({})).isError).toBe(true);
    expect((await call({ again: 'true' })).isError).toBeFalsy();
    expect((await call({ again: false })).isError).toBe(true);
    await client.close();
    expect(await sentTimes('direct')).toBe(2);
  });

  test('an equal write runs for another user, server or account', async () => {
    const other = await shop(services[0]);
    await execute(message('elsewhere'));
    expect(codeOf(await execute(message('elsewhere'), { url: other.accessUrl }))).toBe('ran');
    const second = await services[0].call('POST', `/users/${one.userId}/credentials`, {
      headers: { 'x-svc-userid': one.userId },
      body: { connectorId: 'sandbox', data: { apiKey: 'sandbox_second_account' } },
    });
    const credentialId = second.text('credentialId');
    expect(codeOf(await execute({ ...message('elsewhere'), credentialId }))).toBe('ran');
    expect(codeOf(await execute({ ...message('elsewhere'), credentialId }))).toBe('possible_duplicate');
    await services[0].call('DELETE', `/users/${one.userId}/credentials/${credentialId}`, {
      headers: { 'x-svc-userid': one.userId },
    });
  });

  test('an equal write is held where it is destructive, and runs where it is idempotent', async () => {
    const remove = {
      connectorId: 'sandbox',
      actionId: 'delete_customer',
      parameters: { customerId: 'cus_1010' },
    };
    expect(codeOf(await execute(remove))).toBe('ran');
    expect(codeOf(await execute(remove))).toBe('possible_duplicate');
    const upsert = { ...remove, actionId: 'upsert_contact', parameters: { email: 'ada@example.com' } };
    expect(codeOf(await execute(upsert))).toBe('ran');
    expect(codeOf(await execute(upsert))).toBe('ran');
    const read = { ...remove, actionId: 'get_customer', parameters: { customerId: 'cus_1011' } };
    expect(codeOf(await execute(read))).toBe('ran');
    expect(codeOf(await execute(read))).toBe('ran');
  });

  test('an equal write runs after a call that the app refused', async () => {
    const create = (email: string) => ({
      connectorId: 'sandbox',
      actionId: 'create_customer',
      parameters: { name: 'Ada', email },
    });
    await execute(create('taken@example.com'));
    const taken = { ...create('taken@example.com'), parameters: { name: 'Eve', email: 'taken@example.com' } };
    expect(codeOf(await execute(taken))).toBe('upstream_rejected');
    expect(codeOf(await execute(taken))).toBe('upstream_rejected');
  });

  test('an equal write is recorded as denied, and REST does not hold it', async () => {
    const call = message('recorded');
    await execute(call);
    await execute(call);
    const listed = await services[0].call(
      'GET',
      `/api/executions?serverId=${one.serverId}&outcome=denied&limit=1`,
    );
    expect(listed.at('data.0')).toMatchObject({ errorCode: 'possible_duplicate', upstreamStatus: null });
    const rest = await services[0].call('POST', '/connectors/sandbox/actions/send_message/execute', {
      headers: { 'x-svc-userid': one.userId },
      body: { input: call.parameters },
    });
    expect(rest.status).toBe(200);
  });

  test('an equal write runs on a server whose guard is off', async () => {
    const changed = await services[0].call('PUT', `/api/servers/${one.serverId}`, {
      body: { duplicateGuard: 'off' },
    });
    expect(changed.body).toMatchObject({ duplicateGuard: 'off' });
    const call = message();
    expect(codeOf(await execute(call))).toBe('ran');
    expect(codeOf(await execute(call))).toBe('ran');
    await services[0].call('PUT', `/api/servers/${one.serverId}`, { body: { duplicateGuard: 'on' } });
    expect(codeOf(await execute(call))).toBe('ran');
    expect(codeOf(await execute(call))).toBe('possible_duplicate');
    const wrong = await services[0].call('PUT', `/api/servers/${one.serverId}`, {
      body: { duplicateGuard: 'maybe' },
    });
    expect(wrong.status).toBe(400);
  });

  test('an equal write that needs agreement needs a new one for its repetition', async () => {
    const strict = await shop(services[0], { restrictions: { confirm: ['write'] } });
    const call = message('agreed');
    const agree = async (more: object) => {
      const asked = await execute({ ...call, ...more }, { url: strict.accessUrl });
      expect(codeOf(asked)).toBe('confirmation_required');
      const confirmationToken = asked.at('result.structuredContent.error.details.confirmationToken');
      return execute({ ...call, ...more, confirmationToken }, { url: strict.accessUrl });
    };
    expect(codeOf(await agree({}))).toBe('ran');
    expect(codeOf(await agree({}))).toBe('possible_duplicate');
    expect(codeOf(await agree({ again: true }))).toBe('ran');
  });

  describe('with an outcome that no answer shows', () => {
    const write = (changes: Partial<GuardedWrite> = {}): GuardedWrite => {
      const action = services[0].context.catalog.action('development', 'sandbox', 'send_message');
      if (!action) throw new Error('The sandbox has no send_message.');
      return {
        environment: 'development',
        serverId: one.serverId,
        userId: one.userId,
        credentialId: one.credentialId,
        action,
        input: { text: `write ${count}` },
        guard: { again: false },
        executionId: 'exe_0000000000000000000001',
        ...changes,
      };
    };
    const guard = (at: 0 | 1, given: GuardedWrite, run: () => Promise<{ data: string }> = done) =>
      runGuarded(services[at].context, given, run);
    const done = () => Promise.resolve({ data: 'done' });
    const failing = (error: unknown) => async () => {
      throw error;
    };

    test('an equal write is held after an unknown outcome, and the refusal says that', async () => {
      count++;
      const timeout = new GatehouseError('upstream_timeout', 'no answer');
      await expect(guard(0, write(), failing(timeout))).rejects.toMatchObject({
        code: 'upstream_timeout',
        message: 'no answer',
        details: { outcome: 'unknown' },
      });
      await expect(guard(1, write())).rejects.toMatchObject({
        code: 'possible_duplicate',
        message: expect.stringContaining('it is unknown whether it took effect'),
        details: { executionId: 'exe_0000000000000000000001', secondsAgo: 0, outcome: 'unknown' },
      });
      expect(await guard(1, write({ guard: { again: true } }))).toEqual({ data: 'done' });
      await expect(guard(0, write())).rejects.toMatchObject({
        message: expect.stringContaining('This was done'),
      });
    });

    test.each([
      new GatehouseError('upstream_rejected', 'taken'),
      new GatehouseError('upstream_failed', 'no such host', { details: { reason: 'dns' } }),
    ])('an equal write runs again after a certain failure: %s', async (error) => {
      count++;
      await expect(guard(0, write(), failing(error))).rejects.toBe(error);
      expect(await guard(1, write())).toEqual({ data: 'done' });
    });

    test('a repetition that fails for sure does not free the first write', async () => {
      count++;
      await guard(0, write());
      const refused = new GatehouseError('upstream_rejected', 'taken');
      const again = write({ guard: { again: true } });
      await expect(guard(0, again, failing(refused))).rejects.toBe(refused);
      await expect(guard(1, write())).rejects.toMatchObject({ code: 'possible_duplicate' });
    });

    test('an equal write counts as running until its process dies and its lease ends', async () => {
      count++;
      const begun = Promise.withResolvers<void>();
      void guard(0, write(), () => {
        begun.resolve();
        return new Promise(() => {});
      });
      await begun.promise;
      clock.advance(3 * SECOND);
      await expect(guard(1, write())).rejects.toMatchObject({
        message: expect.stringContaining('still runs'),
        details: { secondsAgo: 3, outcome: 'running' },
      });
      clock.advance(LEASE_MS);
      await expect(guard(1, write())).rejects.toMatchObject({
        message: expect.stringContaining('it is unknown whether it took effect'),
        details: { secondsAgo: 27, outcome: 'unknown' },
      });
      clock.advance(10 * MINUTE);
      expect(await guard(1, write())).toEqual({ data: 'done' });
    });

    test('calls of one program do not hold each other, and hold those of other programs', async () => {
      count++;
      const program = (programId?: string) => write({ guard: { again: false, programId } });
      await guard(0, program('prg_1'));
      expect(await guard(1, program('prg_1'))).toEqual({ data: 'done' });
      await expect(guard(1, program('prg_2'))).rejects.toMatchObject({ code: 'possible_duplicate' });
      await expect(guard(1, program())).rejects.toMatchObject({ code: 'possible_duplicate' });
    });

    test('the store of the duplicate guard shows neither the input nor the record', async () => {
      const call = message('a secret plan');
      const sent = await execute(call);
      const rows = await services[0].context.db.selectFrom('idempotency').selectAll().execute();
      expect(rows.length).toBeGreaterThan(0);
      const text = JSON.stringify(rows);
      expect(text).not.toContain('a secret plan');
      expect(text).not.toContain(String(sent.at('result.structuredContent.data.id')));
    });
  });
});
