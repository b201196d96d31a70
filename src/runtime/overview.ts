import { sql } from 'kysely';
import { MINUTE } from '../lib/clock.ts';
import type { Environment } from '../store/environments.ts';
import type { Db } from '../store/schema.ts';

/** Numbers of things in an environment, and of those that need attention. */
export interface Overview {
  servers: { enabled: number; disabled: number };
  users: { enabled: number; disabled: number };
  credentials: { active: number; needsReconnect: number; revoked: number };
  /** `failing`: active ones whose receiver fails for FAILING_MS or longer. */
  subscriptions: { active: number; disabled: number; failing: number };
  /** Deliveries that were given up. */
  deliveries: { dead: number };
  /** Runs that failed since a time. */
  runs: { failed: number };
}

/** A receiver that fails for less may be restarting. */
const FAILING_MS = 15 * MINUTE;

/** Counts an environment. Each query reads one index. `now` and `runsSince`: epoch ms. */
export async function countOverview(
  db: Db,
  { environment, now, runsSince }: { environment: Environment; now: number; runsSince: number },
): Promise<Overview> {
  const servers = await countBy(db, environment, {
    table: 'servers',
    column: 'enabled',
    values: [0, 1],
  });
  const users = await countBy(db, environment, {
    table: 'users',
    column: 'enabled',
    values: [0, 1],
  });
  const credentials = await countBy(db, environment, {
    table: 'credentials',
    column: 'state',
    values: ['active', 'needs_reconnect', 'revoked'],
  });
  const subscriptions = await countBy(db, environment, {
    table: 'subscriptions',
    column: 'status',
    values: ['active', 'disabled'],
  });
  const failing = await db
    .selectFrom('subscriptions')
    .select((e) => e.fn.countAll().as('count'))
    .where('environment', '=', environment)
    .where('status', '=', sql.lit('active'))
    .where('failing_since', '<=', now - FAILING_MS)
    .executeTakeFirst();
  const dead = await db
    .selectFrom('deliveries')
    .select((e) => e.fn.countAll().as('count'))
    .where('status', '=', sql.lit('dead'))
    .where('subscription_id', 'in', (e) =>
      e.selectFrom('subscriptions').select('subscription_id').where('environment', '=', environment),
    )
    .executeTakeFirst();
  const failed = await db
    .selectFrom('workflow_runs')
    .select((e) => e.fn.countAll().as('count'))
    .where('environment', '=', environment)
    .where('status', '=', 'failed')
    .where('ended_at', '>=', runsSince)
    .executeTakeFirst();
  return {
    servers: { enabled: servers(1), disabled: servers(0) },
    users: { enabled: users(1), disabled: users(0) },
    credentials: {
      active: credentials('active'),
      needsReconnect: credentials('needs_reconnect'),
      revoked: credentials('revoked'),
    },
    subscriptions: {
      active: subscriptions('active'),
      disabled: subscriptions('disabled'),
      failing: Number(failing?.count ?? 0),
    },
    deliveries: { dead: Number(dead?.count ?? 0) },
    runs: { failed: Number(failed?.count ?? 0) },
  };
}

/** Returns a function that gives the number of rows with a value. One count of an index for each is faster than groups. */
async function countBy<T extends string | number>(
  db: Db,
  environment: Environment,
  {
    table,
    column,
    values,
  }: { table: 'servers' | 'users' | 'credentials' | 'subscriptions'; column: string; values: readonly T[] },
): Promise<(value: T) => number> {
  const counts = new Map<T, number>();
  for (const value of values) {
    const { rows } = await sql<{ count: string | number }>`
      select count(*) as count from ${sql.table(table)}
      where environment = ${environment} and ${sql.ref(column)} = ${value}`.execute(db);
    counts.set(value, Number(rows[0]?.count ?? 0));
  }
  return (value) => counts.get(value) ?? 0;
}
