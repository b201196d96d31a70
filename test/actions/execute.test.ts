import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { executeAction, type ExecuteRequest } from '../../src/actions/execute.ts';
import {
  createCredential,
  deleteCredential,
  updateCredential,
} from '../../src/credentials/credential-records.ts';
import type { Json } from '../../src/lib/json.ts';
import { decide } from '../../src/servers/restrictions.ts';
import { openActions, type ActionBench } from '../support/actions.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { GOOD_KEY, startThirdParty, type ThirdParty } from '../support/third-party.ts';

const STYLES = ['offset', 'page', 'cursor', 'keyset', 'link', 'none'];

describe.each(STORE_KINDS)('running an action on %s', (kind) => {
  let bench: ActionBench;
  /** Another process over the same database. */
  let other: ActionBench;
  let party: ThirdParty;

  beforeAll(async () => {
    bench = await openActions(kind);
    other = await bench.again();
    party = await startThirdParty();
    for (const connectorId of ['shop', 'linked']) {
      await createCredential(bench, {
        environment: 'development',
        userId: bench.userId,
        connectorId,
        data: { apiKey: GOOD_KEY, origin: party.origin },
      });
    }
  });
  afterAll(async () => {
    await other[Symbol.asyncDispose]();
    await bench[Symbol.asyncDispose]();
    await party[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    party.answer = undefined;
    party.seen.length = 0;
    party.total = 120;
  });

  const execute = (changes: Partial<ExecuteRequest>, context = bench) =>
    executeAction(context, {
      environment: 'development',
      caller: 'key:k1',
      requestId: 'req_1',
      userId: bench.userId,
      connectorId: 'shop',
      actionId: 'get_thing',
      input: { thingId: '5' },
      ...changes,
    });
  const create = (idempotencyKey: string, label: string, context = bench) =>
    execute({ actionId: 'create_thing', input: { label }, idempotencyKey }, context);
  const lastExecution = async () => {
    await bench.executions.flush();
    return bench.db
      .selectFrom('executions')
      .selectAll()
      .orderBy('at', 'desc')
      .where('request_id', '=', 'req_last')
      .execute();
  };

  test("an action calls the app with the credential and returns the app's value", async () => {
    expect(await execute({ input: { thingId: 'a/../b' } })).toEqual({ data: { id: 'a/../b' } });
    expect(party.seen[0]?.headers['x-key']).toBe(GOOD_KEY);
  });

  test.each(STYLES)(
    'pages style %s to the end, whatever the limits, from two processes in turn',
    async (style) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 4 }),
          fc.integer({ min: 0, max: 100 }),
          async (limits, total) => {
            party.total = total;
            const read: Json[] = [];
            let offset = 0;
            for (let turn = 0; ; turn++) {
              const limit = limits[turn % limits.length] ?? 1;
              const input = { limit, offset };
              const page = await execute(
                { actionId: `list_${style}`, input },
                turn % 2 === 0 ? bench : other,
              );
              if (Array.isArray(page.data)) read.push(...page.data);
              if (!page.pagination?.hasMore) break;
              offset = page.pagination.nextOffset ?? 0;
            }
            expect(read).toEqual(
              Array.from({ length: total }, (_, i) => ({ id: i + 1, label: `thing ${i + 1}` })),
            );
          },
        ),
        { numRuns: 6 },
      );
    },
  );

  test('a page of a cursor list costs one call, also in another process', async () => {
    await execute({ actionId: 'list_cursor', input: { limit: 30 } });
    party.seen.length = 0;
    await execute({ actionId: 'list_cursor', input: { limit: 30, offset: 30 } }, other);
    expect(party.seen).toHaveLength(1);
    const restarted = await bench.again();
    await execute({ actionId: 'list_cursor', input: { limit: 30, offset: 60 } }, restarted);
    await restarted[Symbol.asyncDispose]();
    expect(party.seen.map((one) => one.query.get('cursor'))).toEqual(['c30', 'c60']);
  });

  test('positions of one credential are not used for another, nor for its replaced key', async () => {
    const id = { environment: 'development' as const, userId: bench.userId };
    const data = { apiKey: party.otherKey(), origin: party.origin };
    const second = await createCredential(bench, { ...id, connectorId: 'shop', data });
    const { credentialId } = second;
    const [first] = await bench.db
      .selectFrom('credentials')
      .select('credential_id')
      .where('connector_id', '=', 'shop')
      .where('credential_id', '!=', credentialId)
      .execute();
    const read = (offset: number, chosen: string | undefined) =>
      execute({ actionId: 'list_cursor', input: { limit: 30, offset, color: 'own' }, credentialId: chosen });
    await read(0, first?.credential_id);
    party.seen.length = 0;
    await read(30, credentialId);
    expect(party.seen[0]?.query.get('cursor')).toBeNull();
    await updateCredential(bench, { ...id, credentialId }, { data });
    party.seen.length = 0;
    await read(30, credentialId);
    expect(party.seen[0]?.query.get('cursor')).toBeNull();
    await deleteCredential(bench, { ...id, credentialId });
  });

  test('positions of one input are not used for another', async () => {
    await execute({ actionId: 'list_cursor', input: { limit: 30, color: 'red' } });
    party.seen.length = 0;
    await execute({ actionId: 'list_cursor', input: { limit: 30, offset: 30, color: 'blue' } });
    expect(party.seen[0]?.query.get('cursor')).toBeNull();
  });

  test.each([
    [{ limit: 0 }, 'limit'],
    [{ limit: 51 }, 'limit'],
    [{ limit: 1.5 }, 'limit'],
    [{ limit: '5' }, 'limit'],
    [{ offset: -1 }, 'offset'],
    [{ offset: 1e12 }, 'offset'],
    [{ size: 5 }, 'size'],
  ])('a list action refuses the input %j and names the field', async (input, field) => {
    const error = await execute({ actionId: 'list_offset', input }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'invalid_request' });
    expect(String(error)).toContain(field);
    expect(party.seen).toEqual([]);
  });

  test('an action refuses input that does not fit its schema before it sends anything', async () => {
    const bad = execute({
      actionId: 'create_thing',
      input: { count: 'many', label: 'x'.repeat(21), extra: true },
    });
    await expect(bad).rejects.toMatchObject({
      code: 'invalid_request',
      details: {
        faults: expect.arrayContaining([
          { field: 'extra', rule: 'is not a known parameter; known: label, count' },
          { field: 'count', rule: 'must be integer' },
          expect.objectContaining({ field: 'label' }),
        ]),
      },
    });
    await expect(execute({ input: { thingId: '..' } })).rejects.toMatchObject({ code: 'invalid_request' });
    expect(party.seen).toEqual([]);
  });

  test('a forbidden action is refused with the rule, an unknown one is not found', async () => {
    const server = {
      serverId: 'srv_1',
      decision: decide({ actions: { mode: 'allowlist', allowedActions: ['shop.list_*'] } }),
      limits: { budgets: [], circuit: null },
      confirm: async () => {},
    };
    const unknown = await execute({ server, actionId: 'never_heard_of' }).catch((error: unknown) => error);
    expect(unknown).toMatchObject({
      code: 'action_not_found',
      message: expect.stringMatching(/^Shop has no action "never_heard_of"\. Known: list_/),
    });
    // A proposal names nothing that the server hides.
    const misspelt = await execute({ server, actionId: 'get_thingg' }).catch((error: unknown) => error);
    expect(misspelt).toMatchObject({
      message: expect.stringMatching(/^Shop has no action "get_thingg"\. Known: list_\w+(, list_\w+)*\.$/),
    });
    await expect(execute({ server, actionId: 'get_thing', requestId: 'req_last' })).rejects.toMatchObject({
      code: 'restricted',
      details: { rule: 'actions.allowedActions' },
    });
    expect(party.seen).toEqual([]);
    expect((await execute({ server, actionId: 'list_none', input: { limit: 1 } })).data).toHaveLength(1);
    const [row] = await lastExecution();
    expect(row).toMatchObject({
      outcome: 'denied',
      rule: 'actions.allowedActions',
      error_code: 'restricted',
      server_id: 'srv_1',
      credential_id: null,
    });
    const users = {
      serverId: 'srv_1',
      decision: decide({ users: { mode: 'blocklist', blockedIds: [bench.userId] } }),
      limits: { budgets: [], circuit: null },
      confirm: async () => {},
    };
    await expect(execute({ server: users })).rejects.toMatchObject({ details: { rule: 'users.blockedIds' } });
  });

  test('a run of an unknown connector or action is refused with its own code', async () => {
    await expect(execute({ connectorId: 'nope' })).rejects.toMatchObject({ code: 'connector_not_found' });
    await expect(execute({ actionId: 'nope' })).rejects.toMatchObject({ code: 'action_not_found' });
    await expect(execute({ userId: undefined })).rejects.toMatchObject({ code: 'user_id_missing' });
  });

  test('an action leaves a row with the upstream status, before the answer of a write', async () => {
    const found = async (requestId: string) =>
      bench.db.selectFrom('executions').selectAll().where('request_id', '=', requestId).execute();
    await execute({ actionId: 'create_thing', input: { label: 'new' }, requestId: 'req_write' });
    expect(await found('req_write')).toMatchObject([
      {
        outcome: 'succeeded',
        upstream_status: 201,
        action_id: 'create_thing',
        caller: 'key:k1',
        error_code: null,
      },
    ]);
    party.answer = () => ({ status: 422, body: { message: 'no such label' } });
    const refused = execute({ actionId: 'create_thing', input: { label: 'new' }, requestId: 'req_refused' });
    await expect(refused).rejects.toThrow(/Shop refused the call \(HTTP 422: no such label\)/);
    expect(await found('req_refused')).toMatchObject([
      { outcome: 'failed', upstream_status: 422, error_code: 'upstream_rejected' },
    ]);
    await execute({ actionId: 'delete_thing', requestId: 'req_gone' }).catch(() => {});
    expect(await found('req_gone')).toHaveLength(1);
  });

  test('a write is sent once when it fails, and never again for the same key', async () => {
    party.answer = () => ({ status: 500 });
    await expect(create('key-500', 'a')).rejects.toMatchObject({ code: 'upstream_failed' });
    party.answer = undefined;
    await expect(create('key-500', 'a')).rejects.toMatchObject({
      code: 'upstream_failed',
      headers: { 'Idempotency-Replayed': 'true' },
    });
    expect(party.seen).toHaveLength(1);
  });

  test('a thousand repetitions of a write, from two processes, write once', async () => {
    const first = await create('key-many', 'once');
    for (let i = 0; i < 20; i++) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => create('key-many', 'once', n % 2 === 0 ? bench : other)),
      );
      for (const answer of answers) expect(answer).toEqual({ ...first, replayed: true });
    }
    expect(party.seen).toHaveLength(1);
    await expect(create('key-many', 'twice')).rejects.toMatchObject({ code: 'idempotency_conflict' });
  });

  test('a client that disconnects during a write finds its answer under its key', async () => {
    const released = Promise.withResolvers<void>();
    party.answer = () => ({ status: 201, body: { id: 'late' }, after: released.promise });
    const gone = new AbortController();
    const write = { actionId: 'create_thing', input: { label: 'late' }, idempotencyKey: 'key-gone' };
    const running = execute({ ...write, signal: gone.signal });
    await expect.poll(() => party.seen.length).toBe(1);
    gone.abort();
    released.resolve();
    expect(await running).toEqual({ data: { id: 'late' } });
    expect(await execute(write)).toEqual({ data: { id: 'late' }, replayed: true });
  });

  test('a client that disconnects without a key cancels its call', async () => {
    const gone = new AbortController();
    const running = execute({ signal: gone.signal });
    party.answer = () => {
      gone.abort();
      return { status: 200, after: new Promise(() => {}) };
    };
    await expect(running).rejects.toMatchObject({ details: { reason: 'cancelled' } });
  });

  test.each([
    'https://elsewhere.example/steal',
    '//elsewhere.example/steal',
    'http://127.0.0.1:1/',
    'http://',
  ])('the next page %s is refused, and not called', async (link) => {
    const headers = { link: `<${link}>; rel="next"` };
    party.answer = () => ({ status: 200, body: { data: [{ id: 1 }] }, headers });
    await expect(execute({ actionId: 'list_link', input: { limit: 1 } })).rejects.toMatchObject({
      code: 'upstream_failed',
    });
    expect(party.seen).toHaveLength(1);
  });

  test('no answer, error, log or row holds the secret', async () => {
    const shown: unknown[] = [];
    const keep = (value: unknown) => {
      shown.push(value instanceof Error ? { ...value, message: value.message, stack: value.stack } : value);
    };
    await execute({ connectorId: 'linked', actionId: 'list_things', input: { limit: 10 } }).then(keep);
    await execute({ connectorId: 'linked', actionId: 'list_things', input: { limit: 10, offset: 10 } }).then(
      keep,
    );
    await execute({ actionId: 'create_thing', input: { label: 'x' }, idempotencyKey: 'canary' }).then(keep);
    for (const status of [400, 401, 403, 422, 429, 500]) {
      party.answer = ({ headers, path, query }) => ({
        status,
        body: { message: `${path}?${query.toString()} with ${String(headers['x-key'])} failed` },
      });
      await execute({ actionId: 'create_thing', input: { label: 'x' } }).catch(keep);
      await execute({ connectorId: 'linked', actionId: 'list_things', input: {} }).catch(keep);
    }
    await bench.executions.flush();
    for (const table of ['credentials', 'executions', 'idempotency', 'page_positions', 'audit'] as const) {
      shown.push(await bench.db.selectFrom(table).selectAll().execute());
    }
    expect(JSON.stringify([shown, bench.logged, other.logged])).not.toContain(GOOD_KEY);
    await bench.db.updateTable('credentials').set({ state: 'active', reason: null }).execute();
  });
});
