import { sql } from 'kysely';
import { DAY, HOUR } from '../lib/clock.ts';
import { inSteps } from '../store/batches.ts';
import { ENVIRONMENTS, type DbOrTx, type Environment, type Tables } from '../store/schema.ts';

/** How long the record of executions is kept. */
const EXECUTIONS_KEPT_MS = 90 * DAY;

/** How long the outcome of a connect session can still be asked for. */
const SESSIONS_KEPT_MS = DAY;

/** Listeners read changes every second. */
const CHANGES_KEPT_MS = HOUR;

/** How long what actions are found by is kept while no process searches it. */
const SEARCH_KEPT_MS = 7 * DAY;

/** Rows of a table that are deleted once the time in a column has passed. */
interface Expiry {
  table: keyof Tables;
  key: string[];
  /** A column of times in epoch milliseconds, with an index. */
  column: string;
  /** How long a row is kept after that time. */
  keptMs: number;
  /** Where the index begins with the environment. */
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
  { table: 'search_documents', key: ['document'], column: 'used_at', keptMs: SEARCH_KEPT_MS },
  { table: 'results', key: ['result_id'], column: 'expires_at', keptMs: 0 },
  { table: 'changes', key: ['change_id'], column: 'at', keptMs: CHANGES_KEPT_MS },
  { table: 'spent_tokens', key: ['token_id'], column: 'expires_at', keptMs: 0 },
  { table: 'oauth_states', key: ['state_hash'], column: 'expires_at', keptMs: 0 },
  { table: 'connect_sessions', key: ['session_id'], column: 'expires_at', keptMs: SESSIONS_KEPT_MS },
];

/** Deletes what has had its time: executions, answers kept for idempotency keys, positions in lists, large results,
 *  confirmation tokens, notes of changes, connect sessions, and consents that never came back. */
export async function deleteOldRows(db: DbOrTx, now: number): Promise<void> {
  for (const expiry of EXPIRIES) await inSteps((limit) => deleteOldest(db, expiry, now, limit));
}

async function deleteOldest(
  db: DbOrTx,
  { table, key, column, keptMs, environment }: Expiry,
  now: number,
  limit: number,
): Promise<bigint> {
  const columns = sql.join(key.map((one) => sql.ref(one)));
  const ofEnvironment = environment === undefined ? sql`` : sql`environment = ${environment} and`;
  const { numAffectedRows } = await sql`delete from ${sql.table(table)} where (${columns}) in (
    select ${columns} from ${sql.table(table)}
    where ${ofEnvironment} ${sql.ref(column)} <= ${now - keptMs}
    order by ${sql.ref(column)} limit ${limit})`.execute(db);
  return numAffectedRows ?? 0n;
}
