import { createSecretKey } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listExecutions } from '../../src/actions/execution-list.ts';
import { createExecutionLog, type Execution, type ExecutionLog } from '../../src/actions/executions.ts';
import { deleteOldRows } from '../../src/actions/execution-retention.ts';
import { DAY, MINUTE } from '../../src/lib/clock.ts';
import { createKeyRing } from '../../src/crypto/key-ring.ts';
import { newOrderedId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/log.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore, type Store } from '../../src/store/open-database.ts';
import { manualClock, type ManualClock } from '../support/clock.ts';
import { freshDatabase, STORE_KINDS } from '../support/stores.ts';

const BATCH_MS = 50;

describe.each(STORE_KINDS)('the record of executions on %s', (kind) => {
  let fresh: Awaited<ReturnType<typeof freshDatabase>>;
  let store: Store;
  let clock: ManualClock;
  let executions: ExecutionLog;
  let logged: string[];

  beforeEach(async () => {
    fresh = await freshDatabase(kind);
    store = await openStore(fresh.database);
    clock = manualClock();
    await migrate(store, clock.now());
    logged = [];
    const log = createLog('info', { write: (line) => void logged.push(line) });
    const keys = createKeyRing([Buffer.alloc(32, 9).toString('base64')]);
    const hashKey = createSecretKey(Buffer.alloc(32, 7));
    const audit = { executionsGrew: () => {} };
    executions = createExecutionLog({ db: store.db, clock, log, keys, hashKey, audit });
  });
  afterEach(async () => {
    await executions.close();
    await store.close();
    await fresh.remove();
  });

  const execution = (changes: Partial<Execution> = {}): Execution => ({
    executionId: newOrderedId('exe', clock.now()),
    environment: 'development',
    requestId: 'req_1',
    caller: 'key:k1',
    serverId: 'srv_1',
    userId: 'usr_1',
    connectorId: 'shop',
    actionId: 'list_orders',
    credentialId: undefined,
    outcome: 'succeeded',
    rule: undefined,
    errorCode: undefined,
    upstreamStatus: 200,
    durationMs: 12.6,
    attempts: [],
    ...changes,
  });
  const count = async () => (await store.db.selectFrom('executions').select('execution_id').execute()).length;
  const list = (filter: Partial<Parameters<typeof listExecutions>[1]> = {}) =>
    listExecutions(store.db, { environment: 'development', limit: 50, offset: 0, ...filter });

  test('any number of appended executions is written a moment later', async () => {
    for (let i = 0; i < 300; i++) executions.append(execution());
    expect(await count()).toBe(0);
    await expect.poll(count, { interval: BATCH_MS, timeout: 40 * BATCH_MS }).toBe(300);
  });

  test('a committed execution is stored with the waiting ones before commit() resolves', async () => {
    executions.append(execution());
    await executions.commit(execution());
    expect(await count()).toBe(2);
    await Promise.all(Array.from({ length: 40 }, () => executions.commit(execution())));
    expect(await count()).toBe(42);
  });

  test('the record of executions is written completely by close()', async () => {
    for (let i = 0; i < 77; i++) executions.append(execution());
    await executions.close();
    expect(await count()).toBe(77);
  });

  test('a recorded execution holds caller, action and outcome, and nothing else', async () => {
    await executions.commit(
      execution({
        outcome: 'denied',
        rule: 'actions.blockedActions',
        errorCode: 'restricted',
        upstreamStatus: undefined,
      }),
    );
    const [row] = (await list()).executions;
    expect(row).toEqual({
      execution_id: expect.stringMatching(/^exe_/),
      environment: 'development',
      at: clock.now(),
      request_id: 'req_1',
      caller: 'key:k1',
      server_id: 'srv_1',
      user_id: 'usr_1',
      connector_id: 'shop',
      action_id: 'list_orders',
      credential_id: null,
      outcome: 'denied',
      rule: 'actions.blockedActions',
      error_code: 'restricted',
      upstream_status: null,
      duration_ms: 13,
      attempts: null,
      program_id: null,
      undo_of: null,
    });
  });

  test('the record of executions accepts ids in any form', async () => {
    await executions.commit(execution({ connectorId: `a\u0000${'b '.repeat(500)}`, actionId: '💥' }));
    const [row] = (await list()).executions;
    expect(row?.connector_id).toBe(`a?${'b '.repeat(49)}`);
    expect(row?.action_id).toBe('??');
  });

  test('a failing store is logged, the caller continues, and the rows are written later', async () => {
    const { db } = store;
    await db.schema.alterTable('executions').renameTo('elsewhere').execute();
    await executions.commit(execution());
    expect(logged.join('')).toContain('executions not written');
    await db.schema.alterTable('elsewhere').renameTo('executions').execute();
    executions.append(execution());
    await executions.flush();
    expect(await count()).toBe(2);
  });

  test('the record of executions marks each credential as used once a minute', async () => {
    const credentialId = await storeCredential(store, clock.now());
    const lastUsed = async () =>
      (await store.db.selectFrom('credentials').select('last_used_at').executeTakeFirstOrThrow())
        .last_used_at;
    const first = clock.now();
    await executions.commit(execution({ credentialId }));
    expect(await lastUsed()).toBe(first);
    clock.advance(MINUTE - 1);
    await executions.commit(execution({ credentialId }));
    expect(await lastUsed()).toBe(first);
    clock.advance(1);
    await executions.commit(execution({ credentialId }));
    expect(await lastUsed()).toBe(first + MINUTE);
  });

  test('executions are listed newest first, by every filter, in one environment only', async () => {
    await executions.commit(execution({ environment: 'production' }));
    for (const [position, changes] of [
      { serverId: 'srv_2' },
      { userId: 'usr_2' },
      { connectorId: 'crm' },
      { actionId: 'get_order' },
      { outcome: 'failed' as const, errorCode: 'upstream_failed' },
    ].entries()) {
      clock.advance(1000);
      await executions.commit(execution({ ...changes, requestId: `req_${position}` }));
    }
    const ids = async (filter: Parameters<typeof list>[0]) =>
      (await list(filter)).executions.map((row) => row.request_id);
    expect(await ids({})).toEqual(['req_4', 'req_3', 'req_2', 'req_1', 'req_0']);
    expect(await ids({ serverId: 'srv_2' })).toEqual(['req_0']);
    expect(await ids({ userId: 'usr_2' })).toEqual(['req_1']);
    expect(await ids({ connectorId: 'crm' })).toEqual(['req_2']);
    expect(await ids({ actionId: 'get_order' })).toEqual(['req_3']);
    expect(await ids({ outcome: 'failed' })).toEqual(['req_4']);
    expect(await ids({ from: clock.now() - 1000, to: clock.now() })).toEqual(['req_3']);
  });

  test('executions are paged equally by offset and by cursor, ties included', async () => {
    await Promise.all(Array.from({ length: 23 }, () => executions.commit(execution())));
    const all = (await list()).executions.map((row) => row.execution_id);
    const byCursor: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await list({ limit: 5, cursor });
      byCursor.push(...page.executions.map((row) => row.execution_id));
      if (!page.hasMore) break;
      cursor = page.nextCursor;
    }
    expect(byCursor).toEqual(all);
    const byOffset = await list({ limit: 5, offset: 5 });
    expect(byOffset.executions.map((row) => row.execution_id)).toEqual(all.slice(5, 10));
  });

  test.each([
    { offset: 10_001 },
    { cursor: 'nonsense' },
    { cursor: 'WzEsMl0', offset: 0 },
    { cursor: 'WzFd', offset: 5 },
  ])('a list of executions refuses the filter %j', async (filter) => {
    await expect(list(filter)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('a recorded execution is stored for 90 days', async () => {
    await executions.commit(execution());
    clock.advance(90 * DAY - 1);
    await deleteOldRows(store.db, clock.now());
    expect(await count()).toBe(1);
    clock.advance(1);
    await deleteOldRows(store.db, clock.now());
    expect(await count()).toBe(0);
  });
});

async function storeCredential({ db }: Store, now: number): Promise<string> {
  const stamps = { created_at: now, updated_at: now };
  const user = {
    user_id: 'usr_1',
    environment: 'development' as const,
    username: 'ada',
    metadata: '{}',
    enabled: 1,
  };
  await db
    .insertInto('users')
    .values({ ...user, tokens_revoked_at: null, ...stamps })
    .execute();
  const row = {
    credential_id: 'cred_1',
    environment: 'development' as const,
    user_id: 'usr_1',
    connector_id: 'shop',
    type: 'bearer',
    name: 'Shop',
    state: 'active' as const,
    reason: null,
    account: null,
    sealed: 'v1',
    expires_at: null,
    last_used_at: null,
    ...stamps,
  };
  await db.insertInto('credentials').values(row).execute();
  return row.credential_id;
}
