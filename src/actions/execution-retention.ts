import { FRUITLESS_TTL_MS } from './fruitless-searches.ts';
import { LEARNED_TTL_MS } from './learned-words.ts';
import { CIRCUITS_TTL_MS } from './circuit-rows.ts';
import { sql } from 'kysely';
import { deleteExpiredFiles } from '../files/delete-files.ts';
import { DAY, HOUR } from '../lib/clock.ts';
import { inSteps } from '../store/batches.ts';
import { EXECUTIONS_TTL_MS } from '../runtime/execution-verify.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';

/** How long the outcome of a connect session stays readable. */
const SESSIONS_TTL_MS = DAY;

/** Lifetime of notes of changes, which listeners read every second. */
const CHANGES_TTL_MS = HOUR;

/** Rows of a table that are deleted when the time in a column has passed. */
interface Expiry {
  table: keyof Tables;
  key: string[];
  /** A column of epoch ms, with an index. */
  column: string;
  /** How long a row is stored after that time. */
  ttlMs: number;
  /** Set where the index begins with the environment. */
  environment?: Environment;
}

const EXPIRIES: Expiry[] = [
  ...ENVIRONMENTS.map((environment): Expiry => ({
    table: 'executions',
    key: ['execution_id'],
    column: 'at',
    ttlMs: EXECUTIONS_TTL_MS,
    environment,
  })),
  {
    table: 'execution_batches',
    key: ['chain_id', 'sequence'],
    column: 'at',
    ttlMs: EXECUTIONS_TTL_MS,
  },
  { table: 'problem_reports', key: ['report_id'], column: 'at', ttlMs: EXECUTIONS_TTL_MS },
  { table: 'execution_payloads', key: ['execution_id'], column: 'expires_at', ttlMs: 0 },
  { table: 'undos', key: ['execution_id'], column: 'expires_at', ttlMs: 0 },
  { table: 'idempotency', key: ['key_hash'], column: 'expires_at', ttlMs: 0 },
  { table: 'page_positions', key: ['list_hash', 'item_offset'], column: 'expires_at', ttlMs: 0 },
  { table: 'results', key: ['result_id'], column: 'expires_at', ttlMs: 0 },
  { table: 'call_windows', key: ['window_hash'], column: 'expires_at', ttlMs: 0 },
  { table: 'circuits', key: ['circuit_id'], column: 'failed_at', ttlMs: CIRCUITS_TTL_MS },
  { table: 'programs', key: ['program_id'], column: 'expires_at', ttlMs: 0 },
  { table: 'tasks', key: ['task_id'], column: 'expires_at', ttlMs: 0 },
  { table: 'searches', key: ['search_id'], column: 'at', ttlMs: DAY },
  {
    table: 'search_words',
    key: ['environment', 'word', 'connector_id', 'action_id', 'contributor', 'day'],
    column: 'day',
    ttlMs: LEARNED_TTL_MS,
  },
  { table: 'fruitless_searches', key: ['search_id'], column: 'last_at', ttlMs: FRUITLESS_TTL_MS },
  { table: 'changes', key: ['change_id'], column: 'at', ttlMs: CHANGES_TTL_MS },
  { table: 'spent_tokens', key: ['token_id'], column: 'expires_at', ttlMs: 0 },
  { table: 'oauth_states', key: ['state_hash'], column: 'expires_at', ttlMs: 0 },
  { table: 'console_sessions', key: ['session_hash'], column: 'expires_at', ttlMs: 0 },
  { table: 'connect_sessions', key: ['session_id'], column: 'expires_at', ttlMs: SESSIONS_TTL_MS },
];

/**
 * Deletes expired rows: executions, their chains and payloads, problem reports, undos, answers of idempotency keys, positions
 * in lists, large results, programs that waited, tasks, confirmation tokens, counts of budgets, circuits, searches, learned
 * words, fruitless searches, notes of changes, sessions of the console, connect sessions, states of consents that did
 * not return, and files.
 */
export async function deleteOldRows(db: DbOrTx, now: number): Promise<void> {
  for (const expiry of EXPIRIES) await inSteps((limit) => deleteOldest(db, expiry, { now, limit }));
  await deleteExpiredFiles(db, now);
}

async function deleteOldest(
  db: DbOrTx,
  { table, key, column, ttlMs, environment }: Expiry,
  { now, limit }: { now: number; limit: number },
): Promise<bigint> {
  const columns = sql.join(key.map((one) => sql.ref(one)));
  const ofEnvironment = environment === undefined ? sql`` : sql`environment = ${environment} and`;
  const { numAffectedRows } = await sql`delete from ${sql.table(table)} where (${columns}) in (
    select ${columns} from ${sql.table(table)}
    where ${ofEnvironment} ${sql.ref(column)} <= ${now - ttlMs}
    order by ${sql.ref(column)} limit ${limit})`.execute(db);
  return numAffectedRows ?? 0n;
}
