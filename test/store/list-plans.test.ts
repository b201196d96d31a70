import { createQueryId, sql, type CompiledQuery, type KyselyPlugin, type RootOperationNode } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deleteOldRows } from '../../src/actions/retention.ts';
import { listUsers } from '../../src/identity/users.ts';
import { listServers } from '../../src/servers/records.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore, type Store } from '../../src/store/open.ts';
import type { Db } from '../../src/store/schema.ts';
import { freshDatabase, STORE_KINDS } from '../support/stores.ts';

/* How the databases walk lists: in the order of an index. A scan or a sort would grow with the whole table. */

describe.each(STORE_KINDS)('on %s', (kind) => {
  let fresh: Awaited<ReturnType<typeof freshDatabase>>;
  let store: Store;
  beforeAll(async () => {
    fresh = await freshDatabase(kind, { empty: true });
    store = await openStore(fresh.database);
    await migrate(store, 1);
  });
  afterAll(async () => {
    await store.close();
    await fresh.remove();
  });

  test.each<[string, string, (db: Db) => Promise<unknown>]>([
    ['users', 'users_by_environment_created_at_user_id', (db) => listUsers(db, 'development', PAGE)],
    ['servers', 'servers_by_environment_created_at_server_id', (db) => listServers(db, 'development', PAGE)],
    [
      'servers of a user',
      'servers_by_environment_owner_user_id_created_at_server_id',
      (db) => listServers(db, 'development', { ...PAGE, ownerUserId: 'usr_1' }),
    ],
    ['old executions', 'executions_by_environment_at', (db) => deleteOldRows(db, 10 ** 12)],
  ])('%s are found in the order of an index', async (_, index, list) => {
    const [table = ''] = index.split('_by_');
    const queries = (await queriesOf(store.db, list)).filter(({ sql }) => sql.includes('limit'));
    const plans = await Promise.all(queries.map((query) => planOf(store, query)));
    const own = plans.filter((plan) => plan.includes(table));
    expect(own.length).toBeGreaterThan(0);
    for (const plan of own) {
      expect(plan).toContain(index);
      expect(plan).not.toMatch(new RegExp(`SCAN ${table}(?! USING)|Seq Scan on ${table}`));
    }
  });
});

const PAGE = { limit: 50, offset: 5000 };

async function queriesOf(db: Db, list: (db: Db) => Promise<unknown>): Promise<CompiledQuery[]> {
  const nodes: RootOperationNode[] = [];
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      nodes.push(node);
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  await list(db.withPlugin(plugin));
  return nodes.map((node) => db.getExecutor().compileQuery(node, createQueryId()));
}

/** Empty tables are cheap to scan, so PostgreSQL is asked for the plan that it has for large ones. */
async function planOf({ db, kind }: Store, query: CompiledQuery): Promise<string> {
  return db.connection().execute(async (one) => {
    if (kind === 'postgres') await sql`set enable_seqscan = off`.execute(one);
    const explain = kind === 'sqlite' ? 'explain query plan ' : 'explain ';
    const { rows } = await one.executeQuery({ ...query, sql: explain + query.sql });
    if (kind === 'postgres') await sql`reset enable_seqscan`.execute(one);
    return JSON.stringify(rows);
  });
}
