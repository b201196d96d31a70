import { sql } from 'kysely';
import { DAY, HOUR } from '../lib/clock.ts';
import { inSteps } from '../store/batches.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';

/** How long the record of executions is stored. */
const EXECUTIONS_KEPT_MS = 90 * DAY;

/** How long the outcome of a connect session stays readable. */
const SESSIONS_KEPT_MS = DAY;

/** Listeners read changes every second. */
const CHANGES_KEPT_MS = HOUR;

/** How long a search document is stored while no process uses it. */

/** Rows of a table that are deleted when the time in a column has passed. */
interface Expiry {
  table: keyof Tables;
  key: string[];
  /** A column of epoch ms, with an index. */
  column: string;
  /** How long a row is stored after that time. */
  keptMs: number;
  /** Set where the index begins with the environment. */
  environment?: Environment;
}

const EXPIRIES: Expiry[] = [
  ...ENVIRONMENTS.map((environment): Expiry => ({
    table: 'executions',
    key: ['execution_id'],
    column: 'at',
    keptMs: EXECUTIONS_KEPT_MS,
    environment,
  })),
  { table: 'idempotency', key: ['key_hash'], column: 'expires_at', keptMs: 0 },
  { table: 'page_positions', key: ['list_hash', 'item_offset'], column: 'expires_at', keptMs: 0 },
  { table: 'results', key: ['result_id'], column: 'expires_at', keptMs: 0 },
  { table: 'changes', key: ['change_id'], column: 'at', keptMs: CHANGES_KEPT_MS },
  { table: 'spent_tokens', key: ['token_id'], column: 'expires_at', keptMs: 0 },
  { table: 'oauth_states', key: ['state_hash'], column: 'expires_at', keptMs: 0 },
  { table: 'connect_sessions', key: ['session_id'], column: 'expires_at', keptMs: SESSIONS_KEPT_MS },
];

/**
 * Deletes expired rows: executions, answers of idempotency keys, positions in lists, large results, confirmation
 * tokens, notes of changes, connect sessions, and consents that never came back.
 */
export async function deleteOldRows(db: DbOrTx, now: number): Promise<void> {
  for (const expiry of EXPIRIES) await inSteps((limit) => deleteOldest(db, expiry, { now, limit }));
}

async function deleteOldest(
  db: DbOrTx,
  { table, key, column, keptMs, environment }: Expiry,
  { now, limit }: { now: number; limit: number },
): Promise<bigint> {
  const columns = sql.join(key.map((one) => sql.ref(one)));
  const ofEnvironment = environment === undefined ? sql`` : sql`environment = ${environment} and`;
  const { numAffectedRows } = await sql`delete from ${sql.table(table)} where (${columns}) in (
    select ${columns} from ${sql.table(table)}
    where ${ofEnvironment} ${sql.ref(column)} <= ${now - keptMs}
    order by ${sql.ref(column)} limit ${limit})`.execute(db);
  return numAffectedRows ?? 0n;
}
