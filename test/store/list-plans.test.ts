import { createQueryId, sql, type CompiledQuery, type KyselyPlugin, type RootOperationNode } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listExecutions, type ExecutionFilter } from '../../src/actions/execution-list.ts';
import { deleteOldRows } from '../../src/actions/retention.ts';
import { listCredentials } from '../../src/credentials/records.ts';
import { listDeliveries } from '../../src/events/deliveries.ts';
import { listSubscriptions } from '../../src/events/subscriptions.ts';
import { listAudit } from '../../src/guard/audit.ts';
import { listUsers } from '../../src/identity/users.ts';
import { listServers } from '../../src/servers/records.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore, type Store } from '../../src/store/open.ts';
import type { Db } from '../../src/store/schema.ts';
import { listInstallations } from '../../src/workflows/installations.ts';
import { listWorkflows } from '../../src/workflows/records.ts';
import { listRuns } from '../../src/workflows/run-log.ts';
import { freshDatabase, STORE_KINDS } from '../support/stores.ts';

/* How the databases walk lists: in the order of an index. A scan or a sort would grow with the whole table. */

const FILTERS: [Partial<ExecutionFilter>, string][] = [
  [{}, 'executions_by_environment_at'],
  [{ serverId: 'srv_1' }, 'executions_by_environment_server_id_at'],
  [{ userId: 'usr_1' }, 'executions_by_environment_user_id_at'],
  [{ connectorId: 'sandbox' }, 'executions_by_environment_connector_id_at'],
  [{ actionId: 'list_orders' }, 'executions_by_environment_action_id_at'],
  [{ outcome: 'denied' }, 'executions_by_environment_outcome_at'],
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

  test.each<[string, string, (db: Db) => Promise<unknown>]>([
    ['users', 'users_by_environment_created_at_user_id', (db) => listUsers(db, 'development', PAGE)],
    ['servers', 'servers_by_environment_created_at_server_id', (db) => listServers(db, 'development', PAGE)],
    [
      'servers of a user',
      'servers_by_environment_owner_user_id_created_at_server_id',
      (db) => listServers(db, 'development', { ...PAGE, ownerUserId: 'usr_1' }),
    ],
    ...FILTERS.map(([filter, index]): [string, string, (db: Db) => Promise<unknown>] => [
      `executions by ${Object.keys(filter).join(' and ')}`,
      index,
      (db) => listExecutions(db, { ...PAGE, environment: 'development', ...filter }),
    ]),
    [
      'credentials of a user',
      'credentials_by_user_id_created_at_credential_id',
      (db) => listCredentials(db, { ...PAGE, environment: 'development', userId: 'usr_1' }),
    ],
    [
      'deliveries of a subscription',
      'deliveries_by_subscription_id_sequence',
      (db) => listDeliveries(db, { ...PAGE, subscriptionId: 'sub_1' }),
    ],
    ['runs', 'workflow_runs_by_environment_run_id', (db) => listRuns(db, RUNS)],
    [
      'runs of a workflow',
      'workflow_runs_by_environment_workflow_id_run_id',
      (db) => listRuns(db, { ...RUNS, workflowId: 'wf_1' }),
    ],
    [
      'runs of a user',
      'workflow_runs_by_environment_user_id_run_id',
      (db) => listRuns(db, { ...RUNS, userId: 'usr_1' }),
    ],
    [
      'runs of a status',
      'workflow_runs_by_environment_status_run_id',
      (db) => listRuns(db, { ...RUNS, status: 'failed' }),
    ],
    ['audit entries', 'audit_by_environment_at', (db) => listAudit(db, 'development', PAGE)],
    [
      'subscriptions',
      'subscriptions_by_environment_kind_created_at',
      (db) => listSubscriptions(db, { ...PAGE, environment: 'development' }),
    ],
    [
      'subscriptions of a connection',
      'subscriptions_by_environment_kind_credential_id_created_at',
      (db) => listSubscriptions(db, { ...PAGE, environment: 'development', connectionId: 'crd_1' }),
    ],
    [
      'subscriptions of a user',
      'subscriptions_by_environment_kind_user_id_created_at',
      (db) => listSubscriptions(db, { ...PAGE, environment: 'development', userId: 'usr_1' }),
    ],
    [
      'workflows',
      'workflows_by_environment_created_at_workflow_id',
      (db) => listWorkflows(db, 'development', PAGE),
    ],
    [
      'installations',
      'workflow_installations_by_workflow_id_created_at',
      (db) => listInstallations(db, { ...PAGE, workflowId: 'wf_1' }),
    ],
    ['old executions', 'executions_by_environment_at', (db) => deleteOldRows(db, 10 ** 12)],
  ])('%s are found in the order of an index', async (_, index, list) => {
    const [table = ''] = index.split('_by_');
    const queries = (await queriesOf(store.db, list)).filter(({ sql }) => sql.includes('limit'));
    const plans = await Promise.all(queries.map((query) => planOf(store, query)));
    const own = plans.filter((plan) => plan.includes(table));
    expect(own.length).toBeGreaterThan(0);
    // The list of servers sorts the rows of one page after it has found them by their ids.
    const sorted = own.filter((plan) => /B-TREE FOR ORDER BY|(?<!Incremental )Sort  /.test(plan));
    expect(sorted.length).toBe(table === 'servers' ? 1 : 0);
    for (const plan of own) {
      expect(plan).toContain(index);
      expect(plan).not.toMatch(new RegExp(`SCAN ${table}(?! USING)|Seq Scan on ${table}`));
    }
  });
});

const PAGE = { limit: 50, offset: 5000 };
const RUNS = { ...PAGE, environment: 'development' as const };

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
    if (kind === 'postgres') await sql`set enable_sort = off`.execute(one);
    const explain = kind === 'sqlite' ? 'explain query plan ' : 'explain ';
    const { rows } = await one.executeQuery({ ...query, sql: explain + query.sql });
    if (kind === 'postgres') await sql`reset all`.execute(one);
    // SQLite also calls it a scan when it reads the rows of a subquery, which has the name of its table here.
    return JSON.stringify(rows).replace(/(CO-ROUTINE (\w+)".*)"SCAN \2"/, '$1');
  });
}
