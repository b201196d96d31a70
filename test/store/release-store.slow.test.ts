import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifyAudit } from '../../src/runtime/audit-verify.ts';
import { migrate, migrateWithin, schemaVersion } from '../../src/store/migrate.ts';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import { openStore } from '../../src/store/open-database.ts';
import type { Db, Tx } from '../../src/store/schema.ts';
import { connectClient } from '../support/mcp.ts';
import { startReceiver, verified, type Receiver } from '../support/receiver.ts';
import { releaseHome, type ReleaseHome } from '../support/release-store.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { PATIENCE_MS } from '../support/until.ts';

describe.each(STORE_KINDS)('this release on the store of 0.2.0 on %s', (kind) => {
  let home: ReleaseHome;
  let service: Service;
  let receiver: Receiver;
  const call: Service['call'] = (method, path, options) =>
    service.call(method, path, { bearer: home.developmentKey, ...options });

  beforeAll(async () => {
    home = await releaseHome(kind);
    receiver = await startReceiver();
    service = await startService({ kind, env: home.env });
  });
  afterAll(async () => {
    await service.stop();
    await receiver[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  test('the API key of the store is valid, and its audit log is whole', async () => {
    expect((await call('GET', '/ready')).status).toBe(200);
    expect((await call('GET', `/users/${home.userId}`)).at('username')).toBe('alice');
    expect(await verifyAudit(service.context)).toMatchObject({
      broken: null,
      executions: expect.any(Number),
    });
    expect(await schemaVersion(service.context.db)).toBe(MIGRATIONS.length);
  });

  test('the credentials, OAuth apps and settings of the store open', async () => {
    const path = `/users/${home.userId}/credentials/${home.connectionId}/check`;
    expect((await call('POST', path, { headers: { 'x-svc-userid': home.userId } })).at('state')).toBe(
      'active',
    );
    expect((await call('GET', '/api/connectors/github/oauth-app')).at('clientId')).toBe('fixture-client');
    expect((await call('GET', '/api/settings')).at('origins')).toEqual(['https://app.example.com']);
  });

  test('the access URLs of the store serve MCP under its restrictions', async () => {
    const client = await connectClient(service.url + home.serverPath);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('sandbox_list_orders');
    expect(names).not.toContain('sandbox_send_message');
    const called = await client.callTool({ name: 'sandbox_list_orders', arguments: { limit: 2 } });
    expect([called.isError ?? false, JSON.stringify(called)]).toEqual([
      false,
      expect.stringContaining('ord_'),
    ]);
    await client.close();
  });

  test('events are delivered with the secret that the receiver has', async () => {
    const path = `/webhooks/${home.subscriptionId}`;
    expect((await call('PUT', path, { body: { address: receiver.url } })).status).toBe(200);
    expect((await call('POST', `${path}/test`, { body: {} })).status).toBe(202);
    const [delivery] = await receiver.arrived(1);
    if (!delivery) throw new Error('no delivery');
    expect(verified(home.webhookSecret, delivery)).toMatchObject({ test: true });
  });

  test('an installed workflow of the store runs', async () => {
    const path = `/workflows/${home.workflowId}`;
    const user = `?userId=${home.userId}`;
    const runId = (await call('POST', `${path}/run${user}`, { body: {} })).text('runId');
    const status = async () => (await call('GET', `${path}/runs/${runId}${user}`)).at('status');
    await expect.poll(status, { timeout: PATIENCE_MS }).toBe('succeeded');
  });
});

/** A next migration as made up for these tests: a new table, a new column, and changed rows. */
const NEXT = {
  name: 'notes',
  async up(tx: Tx): Promise<void> {
    await tx.schema
      .createTable('notes')
      .addColumn('user_id', 'text', (c) => c.primaryKey().references('users.user_id').onDelete('cascade'))
      .execute();
    await tx.schema
      .alterTable('users')
      .addColumn('color', 'text', (c) => c.notNull().defaultTo('green'))
      .execute();
    await tx.updateTable('users').set({ enabled: 0 }).where('username', '=', 'bob').execute();
  },
};

describe.each(STORE_KINDS)('a next migration on the store of 0.2.0 on %s', (kind) => {
  const migrations = [...MIGRATIONS, NEXT];
  const usersOf = (db: Db) => db.selectFrom('users').selectAll().orderBy('username').execute();

  test('a migration changes the schema and rows, runs once, and keeps the other rows', async () => {
    await using home = await releaseHome(kind);
    await using store = await openStore(home.database);
    await migrate(store, 1);
    const before = await usersOf(store.db);
    const run = () => store.db.transaction().execute((tx) => migrateWithin(tx, { now: 2, migrations }));
    expect(await run()).toEqual(['notes']);
    expect(await run()).toEqual([]);
    expect(before.map(({ username }) => username)).toEqual(expect.arrayContaining(['alice', 'bob']));
    expect(await usersOf(store.db)).toEqual(
      before.map((user) => ({
        ...user,
        color: 'green',
        enabled: user.username === 'bob' ? 0 : user.enabled,
      })),
    );
    await expect(migrate(store, 3)).rejects.toThrow(
      `at schema version ${migrations.length}, this release knows ${MIGRATIONS.length}`,
    );
  });

  test('a migration that fails leaves the schema and rows of before', async () => {
    await using home = await releaseHome(kind);
    await using store = await openStore(home.database);
    await migrate(store, 1);
    const before = await usersOf(store.db);
    const failing = {
      name: 'failing',
      up: async (tx: Tx) => {
        await NEXT.up(tx);
        throw new Error('midway');
      },
    };
    const run = store.db
      .transaction()
      .execute((tx) => migrateWithin(tx, { now: 2, migrations: [...MIGRATIONS, failing] }));
    await expect(run).rejects.toThrow('midway');
    expect(await usersOf(store.db)).toEqual(before);
    expect(await schemaVersion(store.db)).toBe(MIGRATIONS.length);
    expect(await migrate(store, 3)).toEqual([]);
  });
});
