import { createQueryId, sql, type CompiledQuery, type KyselyPlugin, type RootOperationNode } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listExecutions, type ExecutionFilter } from '../../src/actions/execution-list.ts';
import { undoneBy } from '../../src/actions/executions.ts';
import { deleteOldRows } from '../../src/actions/execution-retention.ts';
import { listCredentials } from '../../src/credentials/credential-lists.ts';
import { listDeliveries } from '../../src/outbox/deliveries.ts';
import { listSubscriptions } from '../../src/subscriptions/subscriptions.ts';
import { listAudit } from '../../src/runtime/audit.ts';
import { countOverview } from '../../src/runtime/overview.ts';
import { listUsers } from '../../src/identity/users.ts';
import { listServers } from '../../src/servers/server-records.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore, type Store } from '../../src/store/open-database.ts';
import type { PageRequest } from '../../src/store/list-pages.ts';
import type { Db } from '../../src/store/schema.ts';
import { listFieldMappings } from '../../src/unified/field-mappings.ts';
import { listInstallations } from '../../src/workflows/installations.ts';
import { listVersions, listWorkflows } from '../../src/workflows/workflow-records.ts';
import { listRuns } from '../../src/workflows/run-log.ts';
import { freshDatabase, STORE_KINDS } from '../support/stores.ts';

/* Query plans of lists: each walks an index. A scan or a sort would grow with the whole table. */

/** A list, its index, and the position of a cursor in it. */
interface List {
  name: string;
  index: string;
  list(db: Db, page: PageRequest): Promise<unknown>;
  /** Values of a cursor; absent for lists without cursors. */
  after?: (number | string)[];
  /** Column that a cursor begins at; default: `created_at`. */
  key?: string;
  /** Number of queries that sort the rows of one page. */
  sorts?: number;
}

const environment = 'development';
const AFTER_ID = [10 ** 12, 'usr_1'];

const EXECUTIONS: List[] = (
  [
    [{}, 'at'],
    [{ serverId: 'srv_1' }, 'server_id_at'],
    [{ userId: 'usr_1' }, 'user_id_at'],
    [{ userId: 'usr_1', outcome: 'failed', actionId: 'list_orders' }, 'user_id_at'],
    [{ connectorId: 'sandbox' }, 'connector_id_at'],
    [{ actionId: 'list_orders' }, 'action_id_at'],
    [{ outcome: 'denied' }, 'outcome_at'],
    [{ programId: 'prog_1' }, 'program_id_at'],
    [{ credentialId: 'cred_1' }, 'credential_id_at'],
    [{ credentialId: 'cred_1', userId: 'usr_1', outcome: 'failed' }, 'credential_id_at'],
  ] satisfies [Partial<ExecutionFilter>, string][]
).map(([filter, columns]) => ({
  name: ['executions', ...Object.keys(filter)].join(' by '),
  index: `executions_by_environment_${columns}`,
  list: (db, page) => listExecutions(db, { ...page, environment, ...filter }),
  after: AFTER_ID,
  key: 'at',
}));

const RUNS: List[] = (
  [
    [{}, 'run_id'],
    [{ workflowId: 'wf_1' }, 'workflow_id_run_id'],
    [{ userId: 'usr_1' }, 'user_id_run_id'],
    [{ status: 'failed' }, 'status_run_id'],
  ] as const
).map(([filter, columns]) => ({
  name: ['runs', ...Object.keys(filter)].join(' by '),
  index: `workflow_runs_by_environment_${columns}`,
  list: (db, page) => listRuns(db, { ...page, environment, ...filter }),
  after: ['run_1'],
  key: 'run_id',
}));

const DELIVERIES: List[] = (
  [
    [{}, 'deliveries'],
    [{ status: 'succeeded' }, 'deliveries'],
    [{ status: 'waiting' }, 'deliveries_waiting'],
    [{ status: 'dead' }, 'deliveries_dead'],
    [{ status: 'cancelled' }, 'deliveries_cancelled'],
  ] as const
).map(([filter, table]) => ({
  name: ['deliveries of a subscription', ...Object.values(filter)].join(' that are '),
  index: `${table}_by_subscription_id_sequence`,
  list: (db, page) => listDeliveries(db, { ...page, subscriptionId: 'sub_1', ...filter }),
  after: [7],
  key: 'sequence',
  // Waiting deliveries are a page of an index and the few that were handed over.
  sorts: table === 'deliveries_waiting' ? 1 : 0,
}));

const SUBSCRIPTIONS: List[] = (
  [
    [{}, 'created_at'],
    [{ connectionId: 'crd_1' }, 'credential_id_created_at'],
    [{ userId: 'usr_1' }, 'user_id_created_at'],
  ] as const
).map(([filter, columns]) => ({
  name: ['subscriptions', ...Object.keys(filter)].join(' by '),
  index: `subscriptions_by_environment_kind_${columns}`,
  list: (db, page) => listSubscriptions(db, { ...page, environment, ...filter }),
  after: AFTER_ID,
}));

const SERVERS: List[] = (
  [
    ['servers', {}, 'created_at_server_id'],
    ['servers of a user', { ownerUserId: 'usr_1' }, 'owner_user_id_created_at_server_id_bound'],
    ['servers of a JWT', { ownerUserId: 'usr_1', bound: true }, 'owner_user_id_created_at_server_id_bound'],
  ] as const
).map(([name, filter, columns]) => ({
  name,
  index: `servers_by_environment_${columns}`,
  list: (db, page) => listServers(db, environment, { ...page, ...filter }),
  // The rows of a page are sorted after they are found by their ids.
  sorts: 1,
}));

const LISTS: List[] = [
  ...EXECUTIONS,
  ...RUNS,
  ...DELIVERIES,
  ...SUBSCRIPTIONS,
  ...SERVERS,
  {
    name: 'users',
    index: 'users_by_environment_created_at_user_id',
    list: (db, page) => listUsers(db, environment, page),
    after: AFTER_ID,
  },
  {
    name: 'credentials of a user',
    index: 'credentials_by_user_id_created_at_credential_id',
    list: (db, page) => listCredentials(db, { ...page, environment, userId: 'usr_1' }),
    after: AFTER_ID,
  },
  {
    name: 'credentials of a user at a connector',
    index: 'credentials_by_user_id_connector_id_created_at_credential_id',
    list: (db, page) =>
      listCredentials(db, { ...page, environment, userId: 'usr_1', connectorId: 'sandbox' }),
    after: AFTER_ID,
  },
  {
    name: 'audit entries',
    index: 'audit_by_environment_at',
    list: (db, page) => listAudit(db, environment, page),
    after: AFTER_ID,
    key: 'at',
  },
  {
    name: 'workflows',
    index: 'workflows_by_environment_created_at_workflow_id',
    list: (db, page) => listWorkflows(db, environment, page),
    after: AFTER_ID,
  },
  {
    name: 'versions of a workflow',
    index: 'workflow_versions',
    list: (db, page) => listVersions(db, 'wf_1', page),
    after: [7],
    key: 'version',
  },
  {
    name: 'installations',
    index: 'workflow_installations_by_workflow_id_created_at',
    list: (db, page) => listInstallations(db, { ...page, workflowId: 'wf_1' }),
    after: AFTER_ID,
  },
  {
    name: 'field mappings',
    index: 'field_mappings_by_environment_created_at_mapping_id',
    list: (db, page) => listFieldMappings(db, environment, page),
    after: AFTER_ID,
  },
  {
    name: 'old executions',
    index: 'executions_by_environment_at',
    list: (db) => deleteOldRows(db, 10 ** 12),
  },
];

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

  test.each(LISTS)('$name are found in the order of an index', async ({ index, list, sorts = 0 }) => {
    for (const plan of await plansOf(store, index, (db) => list(db, PAGE), sorts)) {
      expect(plan).toContain(index);
    }
  });

  test.each(LISTS.filter(({ after }) => after !== undefined))(
    '$name begin at the cursor in the index',
    async ({ index, list, after = [], key = 'created_at', sorts = 0 }) => {
      const cursor = Buffer.from(JSON.stringify(after)).toString('base64url');
      const page = { limit: 50, offset: 0, cursor };
      const beginning =
        kind === 'sqlite' ? new RegExp(`${index}\\S* \\([^)]*\\b${key}[<>]\\?`) : beginsAt(index, key);
      for (const plan of await plansOf(store, index, (db) => list(db, page), sorts)) {
        expect(plan).toMatch(beginning);
      }
    },
  );

  test.each([
    ['an environment', {}],
    ['a user', { ownerUserId: 'usr_1' }],
    ['a JWT', { ownerUserId: 'usr_1', bound: true }],
  ])('servers of %s are counted in an index alone', async (_, filter) => {
    const queries = await queriesOf(store.db, (db) => listServers(db, 'development', { ...PAGE, ...filter }));
    const count = queries.filter((query) => query.sql.includes('count('));
    expect(count.length).toBe(1);
    for (const query of count)
      expect(await planOf(store, query)).toMatch(/USING COVERING INDEX|Index Only Scan/);
  });

  test('undone executions are found in the index of undos without statistics', async () => {
    const [query] = await queriesOf(store.db, (db) => undoneBy(db, environment, ['exe_1', 'exe_2']));
    expect(query && (await planOf(store, query))).toContain('executions_by_undo_of');
  });

  test('numbers of the overview are counted in an index alone without statistics', async () => {
    const counts = await queriesOf(store.db, (db) =>
      countOverview(db, { environment, now: 0, runsSince: 0 }),
    );
    expect(counts.length).toBeGreaterThan(10);
    for (const query of counts)
      expect(await planOf(store, query)).toMatch(/INDEX|Index (Only )?Scan|Bitmap Index/);
    const servers = counts.find((query) => query.sql.includes('"servers"'));
    expect(servers && (await planOf(store, servers))).toMatch(
      /COVERING INDEX servers_by_enabled_environment|Index Only Scan using servers_by_enabled_environment/,
    );
  });
});

const beginsAt = (index: string, key: string): RegExp =>
  new RegExp(`${index} [^[]*Index Cond: [^"]*\\b${key} [<>]`);

/**
 * Returns the plans of a list's queries over the table of the index, and asserts that none scans it and `sorts` of
 * them sort.
 */
async function plansOf(
  store: Store,
  index: string,
  list: (db: Db) => Promise<unknown>,
  sorts = 0,
): Promise<string[]> {
  const table = index.replace(/(_waiting|_dead|_cancelled)?_by_.*/, '');
  const queries = (await queriesOf(store.db, list)).filter(({ sql }) => sql.includes('limit'));
  const plans = await Promise.all(queries.map((query) => planOf(store, query)));
  const own = plans.filter((plan) => plan.includes(table));
  expect(own.length).toBeGreaterThan(0);
  expect(own.filter((plan) => /B-TREE FOR ORDER BY|(?<!Incremental )Sort  /.test(plan))).toHaveLength(sorts);
  for (const plan of own)
    expect(plan).not.toMatch(new RegExp(`SCAN ${table}(?! USING)|Seq Scan on ${table}`));
  return own;
}

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

/**
 * Returns the plan of a query. Empty tables are cheap to scan, so PostgreSQL gives the plan that it has for large
 * ones.
 */
async function planOf({ db, kind }: Store, query: CompiledQuery): Promise<string> {
  return db.connection().execute(async (one) => {
    if (kind === 'postgres') await sql`set enable_seqscan = off`.execute(one);
    if (kind === 'postgres') await sql`set enable_sort = off`.execute(one);
    const explain = kind === 'sqlite' ? 'explain query plan ' : 'explain ';
    const { rows } = await one.executeQuery({ ...query, sql: explain + query.sql });
    if (kind === 'postgres') await sql`reset all`.execute(one);
    // SQLite also reports a scan when it reads the rows of a subquery, which has the name of its table here.
    return JSON.stringify(rows).replace(/(CO-ROUTINE (\w+)".*)"SCAN \2"/, '$1');
  });
}
