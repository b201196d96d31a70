import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { migrate, SchemaError } from '../../src/store/migrate.ts';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import { isUniqueViolation, openStore, StoreError, type Store } from '../../src/store/open-database.ts';
import { freshDatabase, STORE_KINDS } from '../support/stores.ts';

const USER = {
  user_id: 'usr_1',
  environment: 'development' as const,
  username: 'ada',
  metadata: '{"plan":"pro"}',
  enabled: 1,
  tokens_revoked_at: null,
  created_at: 1_772_366_400_123,
  updated_at: 1_772_366_400_123,
};

describe.each(STORE_KINDS)('the store on %s', (kind) => {
  let fresh: Awaited<ReturnType<typeof freshDatabase>>;
  let store: Store;

  beforeEach(async () => {
    fresh = await freshDatabase(kind, { empty: true });
    store = await openStore(fresh.database);
  });
  afterEach(async () => {
    await store.close();
    await fresh.remove();
  });

  test('the store migrates an empty database once', async () => {
    expect(await migrate(store, 1)).toEqual(MIGRATIONS.map((migration) => migration.name));
    expect(await migrate(store, 2)).toEqual([]);
  });

  test('two processes that migrate at the same time do the work once', async () => {
    const other = await openStore(fresh.database);
    try {
      const ran = await Promise.all([migrate(store, 1), migrate(other, 1)]);
      expect(ran.flat()).toEqual(MIGRATIONS.map((migration) => migration.name));
    } finally {
      await other.close();
    }
  });

  test('the store refuses a database that a newer release has migrated', async () => {
    await migrate(store, 1);
    await store.db
      .insertInto('schema_versions')
      .values({ version: MIGRATIONS.length + 1, name: 'from the future', applied_at: 2 })
      .execute();
    await expect(migrate(store, 3)).rejects.toThrow(SchemaError);
    await expect(migrate(store, 3)).rejects.toThrow(/newer Gatehouse/);
  });

  test('the store returns stored milliseconds, text and null unchanged', async () => {
    await migrate(store, 1);
    await store.db.insertInto('users').values(USER).execute();
    expect(await store.db.selectFrom('users').selectAll().executeTakeFirst()).toEqual(USER);
  });

  test('the store distinguishes a unique violation from other faults', async () => {
    await migrate(store, 1);
    await store.db.insertInto('users').values(USER).execute();
    const twice = store.db
      .insertInto('users')
      .values({ ...USER, user_id: 'usr_2' })
      .execute();
    expect(isUniqueViolation(await twice.catch((error: unknown) => error))).toBe(true);
    const orphan = store.db.insertInto('credentials').values(credentialOf('usr_absent')).execute();
    const refused = await orphan.catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Error);
    expect(isUniqueViolation(refused)).toBe(false);
  });

  test('the store deletes the rows of a user with the user', async () => {
    await migrate(store, 1);
    await store.db.insertInto('users').values(USER).execute();
    await store.db.insertInto('credentials').values(credentialOf(USER.user_id)).execute();
    await store.db.deleteFrom('users').where('user_id', '=', USER.user_id).execute();
    expect(await store.db.selectFrom('credentials').selectAll().execute()).toEqual([]);
  });

  test('a transaction that fails leaves nothing behind', async () => {
    await migrate(store, 1);
    const failing = store.db.transaction().execute(async (tx) => {
      await tx.insertInto('users').values(USER).execute();
      throw new Error('midway');
    });
    await expect(failing).rejects.toThrow('midway');
    expect(await store.db.selectFrom('users').selectAll().execute()).toEqual([]);
  });

  test('two processes that write at the same time lose nothing', async () => {
    await migrate(store, 1);
    const other = await openStore(fresh.database);
    try {
      const writes = [store, other].flatMap((one, process) =>
        Array.from({ length: 50 }, (_, number) =>
          one.db.transaction().execute(async (tx) => {
            const name = `${process}-${number}`;
            await tx.selectFrom('users').select('user_id').where('user_id', '=', name).execute();
            await tx
              .insertInto('users')
              .values({ ...USER, user_id: name, username: name })
              .execute();
          }),
        ),
      );
      await Promise.all(writes);
      const { count } = await other.db
        .selectFrom('users')
        .select((e) => e.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      expect(count).toBe(100);
    } finally {
      await other.close();
    }
  });
});

test('a database that cannot be opened is reported in one line', async () => {
  const nowhere = openStore({ kind: 'sqlite', path: '/dev/null/gatehouse.db' });
  await expect(nowhere).rejects.toThrow(StoreError);
  await expect(nowhere).rejects.toThrow(/Cannot open the database \/dev\/null\/gatehouse\.db/);
  // No folder can be created in /proc; the kernel only reports that the parent is missing.
  const never = openStore({ kind: 'sqlite', path: '/proc/none/deep/gatehouse.db' });
  await expect(never).rejects.toThrow(/Cannot open the database \/proc\/none\/deep\/gatehouse\.db: ENOENT/);
  const nobody = openStore({ kind: 'postgres', url: 'postgres://127.0.0.1:1/none' });
  await expect(nobody).rejects.toThrow(/Cannot connect to the PostgreSQL server/);
});

function credentialOf(userId: string) {
  return {
    credential_id: 'cred_1',
    environment: 'development' as const,
    user_id: userId,
    connector_id: 'sandbox',
    type: 'api_key',
    name: 'mine',
    state: 'active' as const,
    reason: null,
    account: null,
    sealed: 'v1.x',
    expires_at: null,
    last_used_at: null,
    created_at: 1,
    updated_at: 1,
  };
}
