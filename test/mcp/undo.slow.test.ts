import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runUndo, undoOfExecution } from '../../src/actions/undo.ts';
import { DAY, SECOND } from '../../src/lib/clock.ts';
import { GatehouseError } from '../../src/lib/errors.ts';
import type { Json } from '../../src/lib/json.ts';
import { LEASE_MS } from '../../src/runtime/lease.ts';
import { manualClock } from '../support/clock.ts';
import { connectClient, rpc, shop, type RpcAnswer } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

/* Undo over MCP and REST, in two processes over one store. The sandbox of the first process has the customers. */
describe.each(STORE_KINDS)('undo on %s', (kind) => {
  const clock = manualClock();
  let first: Service;
  let second: Service;
  let one: Awaited<ReturnType<typeof shop>>;
  let count = 0;
  beforeAll(async () => {
    first = await startService({ kind, clock });
    second = await startService({ env: first.env, clock });
    one = await shop(first, { toolMode: 'direct' });
  });
  afterAll(async () => {
    await second.stop();
    await first.stop();
  });

  const tool = (name: string, args: object, { url = one.accessUrl, at = first } = {}) =>
    rpc(url.replace(first.url, at.url), 'tools/call', { name, arguments: args });
  const customer = () => ({ name: 'Ada', email: `ada${++count}@example.com` });
  const create = (values: object = customer(), url = one.accessUrl) => {
    // Executions of one time have no order.
    clock.advance(SECOND);
    const call = { connectorId: 'sandbox', actionId: 'create_customer', parameters: values };
    return tool('execute_action_svc', call, { url });
  };
  const undo = (undoToken: Json | undefined, where = {}) => tool('undo_action_svc', { undoToken }, where);
  const codeOf = (answer: RpcAnswer) => answer.at('result.structuredContent.error.code') ?? 'ran';
  const tokenOf = (made: RpcAnswer) => made.at('result.structuredContent.undo.undoToken');
  const isThere = async (made: RpcAnswer) => {
    const customerId = made.at('result.structuredContent.data.id');
    return codeOf(await tool('sandbox_get_customer', { customerId })) === 'ran';
  };
  const newest = async (actionId = 'create_customer') => {
    const query = `serverId=${one.serverId}&outcome=succeeded&actionId=${actionId}&limit=1`;
    return (await first.call('GET', `/api/executions?${query}`)).text('data.0.executionId');
  };
  const overRest = (executionId: string, options = {}) =>
    first.call('POST', `/executions/${executionId}/undo`, options);

  test('a result that can be undone has a token for 24 hours, which takes it back once', async () => {
    const made = await create();
    const executionId = await newest();
    expect(made.at('result.structuredContent.undo')).toEqual({
      undoToken: expect.stringMatching(/^gh_undo_[0-9A-Za-z]{43}$/),
      expiresAt: new Date(clock.now() + DAY).toISOString(),
    });
    expect(await isThere(made)).toBe(true);
    const undone = await undo(tokenOf(made));
    expect(undone.at('result.structuredContent')).toEqual({ data: null, undoOf: executionId });
    expect(await isThere(made)).toBe(false);

    const undoing = await newest('delete_customer');
    for (const at of [first, second]) {
      const again = await undo(tokenOf(made), { at });
      expect(again.at('result.structuredContent.error')).toMatchObject({
        code: 'already_undone',
        details: { executionId: undoing },
      });
    }
    const rows = await first.call(
      'GET',
      `/api/executions?serverId=${one.serverId}&actionId=create_customer&limit=1`,
    );
    expect(rows.at('data.0')).toMatchObject({ executionId, undoOf: null, undoneBy: undoing });
    const row = await first.call('GET', `/api/executions/${undoing}`);
    expect(row.body).toMatchObject({ undoOf: executionId, undoneBy: null, undoExpiresAt: null });
  });

  test('an equal call runs after the first one was undone', async () => {
    const values = customer();
    const made = await create(values);
    expect(codeOf(await create(values))).toBe('possible_duplicate');
    await undo(tokenOf(made));
    const again = await create(values);
    expect(codeOf(again)).toBe('ran');
    expect(codeOf(await create(values))).toBe('possible_duplicate');
  });

  test('REST gives the token too, and undoes by the id of the execution', async () => {
    const headers = { 'x-svc-userid': one.userId, 'idempotency-key': 'create once' };
    const send = (body: object) =>
      first.call('POST', '/connectors/sandbox/actions/create_customer/execute', { headers, body });
    const body = { input: customer() };
    clock.advance(SECOND);
    const made = await send(body);
    expect(made.at('undo.undoToken')).toMatch(/^gh_undo_/);
    const listed = await first.call('GET', '/api/executions?actionId=create_customer&limit=1');
    const executionId = listed.text('data.0.executionId');
    const details = await first.call('GET', `/api/executions/${executionId}`);
    expect(details.at('undoExpiresAt')).toBe(made.at('undo.expiresAt'));
    expect((await send(body)).at('undo')).toEqual(made.at('undo'));
    // A token of REST belongs to no server.
    expect(codeOf(await undo(made.at('undo.undoToken')))).toBe('undo_not_found');

    const undone = await overRest(executionId);
    expect(undone).toMatchObject({ status: 200, body: { data: null, undoOf: executionId } });
    const again = await overRest(executionId);
    expect([again.status, again.at('code')]).toEqual([409, 'already_undone']);
    const after = await first.call('GET', `/api/executions/${executionId}`);
    expect(after.at('undoneBy')).toBe(again.at('details.executionId'));
  });

  test('a call over MCP can be undone over REST, and then no longer by its token', async () => {
    const made = await create();
    expect((await overRest(await newest())).status).toBe(200);
    expect(await isThere(made)).toBe(false);
    expect(codeOf(await undo(tokenOf(made)))).toBe('already_undone');
  });

  test('a foreign token is answered as an invented one', async () => {
    const made = await create();
    const executionId = await newest();
    const other = await shop(first);
    const ownServer = await first.call('POST', '/api/servers', {
      headers: { 'x-svc-userid': one.userId },
      body: { name: `other ${kind}` },
    });
    const invented = await undo(`gh_undo_${'0'.repeat(43)}`);
    const withoutId = (answer: RpcAnswer) => {
      const { requestId, ...error } = Object(answer.at('result.structuredContent.error'));
      expect(requestId).toBeTruthy();
      return error;
    };
    expect(withoutId(invented)).toMatchObject({ code: 'undo_not_found' });
    for (const url of [other.accessUrl, ownServer.text('accessUrl')])
      expect(withoutId(await undo(tokenOf(made), { url }))).toEqual(withoutId(invented));
    expect(withoutId(await undo('nonsense'))).toEqual(withoutId(invented));

    const foreign = await overRest(executionId, { headers: { 'x-svc-userid': other.userId } });
    const unknown = await overRest('exe_0000000000000000000000');
    expect([foreign.status, foreign.at('error')]).toEqual([404, unknown.at('error')]);
    const production = await overRest(executionId, { bearer: first.productionKey });
    expect(production.status).toBe(404);
    expect(await isThere(made)).toBe(true);
  });

  test('the restrictions at the time of an undo apply to it', async () => {
    const made = await create();
    const restrict = (restrictions: object) =>
      first.call('PUT', `/api/servers/${one.serverId}`, { body: { restrictions } });
    await restrict({ actions: { blockedActions: ['sandbox.delete_customer'] } });
    const refused = await undo(tokenOf(made));
    expect(codeOf(refused)).toBe('restricted');
    expect(await isThere(made)).toBe(true);

    await restrict({ confirm: ['destructive'] });
    const asked = await undo(tokenOf(made));
    expect(asked.at('result.structuredContent.error.code')).toBe('confirmation_required');
    expect(asked.at('result.structuredContent.error.next')).toContain('call undo_action_svc');
    const confirmationToken = asked.at('result.structuredContent.error.details.confirmationToken');
    const args = { undoToken: tokenOf(made), confirmationToken };
    expect(codeOf(await tool('undo_action_svc', args))).toBe('ran');
    expect(await isThere(made)).toBe(false);
    await restrict({});
  });

  test('a token expires after 24 hours', async () => {
    const made = await create();
    clock.advance(DAY);
    expect(codeOf(await undo(tokenOf(made)))).toBe('undo_not_found');
  });

  test('many undos at the same time run once, also by the SDK client', async () => {
    const made = await create();
    const codes = await Promise.all(
      Array.from({ length: 6 }, async (_, at) =>
        codeOf(await undo(tokenOf(made), { at: at % 2 ? second : first })),
      ),
    );
    // The sandbox of the second process does not have the customer, and a refusal lets the next undo run.
    expect(codes.filter((code) => code === 'ran').length).toBeLessThanOrEqual(1);
    const client = await connectClient(one.accessUrl);
    await client.callTool({ name: 'undo_action_svc', arguments: { undoToken: tokenOf(made) } });
    await client.close();
    expect(await isThere(made)).toBe(false);
  });

  test('a refused undo can be tried again', async () => {
    const made = await create();
    const customerId = made.at('result.structuredContent.data.id');
    await tool('sandbox_delete_customer', { customerId });
    expect(codeOf(await undo(tokenOf(made)))).toBe('upstream_rejected');
    expect(codeOf(await undo(tokenOf(made)))).toBe('upstream_rejected');
  });

  test('a call without an inverse has no undo', async () => {
    const sent = await tool('sandbox_send_message', { to: 'ada@example.com', text: `message ${++count}` });
    expect(sent.at('result.structuredContent')).not.toHaveProperty('undo');
    expect((await overRest(await newest('send_message'))).at('code')).toBe('undo_not_found');
  });

  test('the store shows neither the input nor the token', async () => {
    const made = await create();
    const rows = JSON.stringify(await first.context.db.selectFrom('undos').selectAll().execute());
    expect(rows).toContain('delete_customer');
    expect(rows).not.toContain(String(made.at('result.structuredContent.data.id')));
    expect(rows).not.toContain(String(tokenOf(made)));
  });

  test('deleting the user deletes the undos', async () => {
    const other = await shop(first);
    await create(customer(), other.accessUrl);
    const left = () =>
      first.context.db.selectFrom('undos').selectAll().where('user_id', '=', other.userId).execute();
    expect(await left()).toHaveLength(1);
    await first.call('DELETE', `/users/${other.userId}`);
    expect(await left()).toEqual([]);
  });

  describe('with an outcome that no answer shows', () => {
    const stored = async () => {
      await create();
      return undoOfExecution(first.context, 'development', await newest());
    };
    const unknown = new GatehouseError('upstream_timeout', 'no answer');
    const fail = async () => {
      throw unknown;
    };

    /** Returns the result of an undo in the second process, or the details of its refusal. */
    const undoNext = (call: Parameters<typeof runUndo>[1]) =>
      runUndo(second.context, call, async () => 'done').catch(({ code, details }) => ({ code, ...details }));
    const refusal = (outcome: string) => ({ code: 'already_undone', executionId: 'exe_1', outcome });

    test.each([
      [true, 'done'],
      [false, refusal('unknown')],
    ])(
      'an undo of unknown outcome runs again if repetition does no harm: %s',
      async (repeatable, expected) => {
        const call = { undo: await stored(), repeatable, executionId: 'exe_1' };
        await expect(runUndo(first.context, call, fail)).rejects.toBe(unknown);
        expect(await undoNext(call)).toEqual(expected);
      },
    );

    test.each([
      [true, 'done'],
      [false, refusal('unknown')],
    ])(
      'an undo of a dead process runs again if repetition does no harm: %s',
      async (repeatable, expected) => {
        const call = { undo: await stored(), repeatable, executionId: 'exe_1' };
        const begun = Promise.withResolvers<void>();
        void runUndo(first.context, call, () => {
          begun.resolve();
          return new Promise(() => {});
        });
        await begun.promise;
        expect(await undoNext(call)).toEqual(refusal('running'));
        clock.advance(LEASE_MS + SECOND);
        expect(await undoNext(call)).toEqual(expected);
      },
    );
  });
});
