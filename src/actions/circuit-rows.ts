import { sql } from 'kysely';
import { DAY, MINUTE, SECOND } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { MAX_OFFSET, readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { Environment } from '../store/environments.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import type { Circuit } from '../servers/call-limits.ts';

/** The action and account of a circuit. */
export interface CircuitKey {
  /** The credential; for calls without one the server, because another user's failures must not stop them. */
  account: string;
  connectorId: string;
  actionId: string;
}

/** A call as its circuit counts it. */
export interface CircuitCall {
  circuit: Circuit;
  environment: Environment;
  serverId: string;
  userId: string | undefined;
  credentialId: string | undefined;
  connectorId: string;
  actionId: string;
}

/** A circuit with failures. One without failures has no row. */
export interface CircuitState {
  /** Failures in a row. */
  failures: number;
  /** When a trial call is possible, epoch ms; null while the circuit is closed. */
  openUntil: number | null;
}

/** Time after which a trial call that did not end is given up, for example because its process ended. */
const TRIAL_MS = MINUTE;
/** Time after which a failure no longer counts as one in a row: execution-retention.ts then deletes its row. */
export const CIRCUITS_TTL_MS = DAY;

/** Counts a failure, and opens the circuit at the limit or after a failed trial. */
export async function noteFailure(
  db: DbOrTx,
  key: CircuitKey,
  { call, now }: { call: CircuitCall; now: number },
): Promise<CircuitState> {
  const { environment, userId, credentialId, circuit } = call;
  const openUntil = now + circuit.openSeconds * SECOND;
  const row = await db
    .insertInto('circuits')
    .values({
      circuit_id: newId('cir'),
      environment,
      account: key.account,
      connector_id: key.connectorId,
      action_id: key.actionId,
      user_id: userId ?? null,
      credential_id: credentialId ?? null,
      failures: 1,
      failed_at: now,
      open_until: circuit.failures <= 1 ? openUntil : null,
      trial_until: null,
    })
    .onConflict((c) =>
      c.columns(['account', 'connector_id', 'action_id']).doUpdateSet({
        failures: sql<number>`circuits.failures + 1`,
        failed_at: now,
        open_until: sql<number | null>`case when circuits.open_until is not null
          or circuits.failures + 1 >= ${sql.lit(circuit.failures)} then cast(${openUntil} as bigint) else null end`,
        trial_until: null,
      }),
    )
    .returning(['failures', 'open_until'])
    .executeTakeFirstOrThrow();
  return { failures: row.failures, openUntil: row.open_until };
}

/** The result of claimTrial(): this call is the trial, the circuit is closed, or another call is the trial. */
type Claim = 'trial' | 'closed' | { failures: number; closesAt: number };

/** Claims the trial of a circuit whose open time is over. In all processes together, one call gets it. */
export async function claimTrial(db: DbOrTx, key: CircuitKey, now: number): Promise<Claim> {
  const claimed = await db
    .updateTable('circuits')
    .set({ trial_until: now + TRIAL_MS })
    .where(isOf(key))
    .where('open_until', '<=', now)
    .where((e) => e.or([e('trial_until', 'is', null), e('trial_until', '<=', now)]))
    .returning('circuit_id')
    .executeTakeFirst();
  if (claimed) return 'trial';
  const row = await db
    .selectFrom('circuits')
    .select(['failures', 'open_until', 'trial_until'])
    .where(isOf(key))
    .executeTakeFirst();
  if (!row || row.open_until === null) return 'closed';
  return { failures: row.failures, closesAt: Math.max(row.open_until, row.trial_until ?? 0) };
}

/** Ends a trial that did not show whether the app works, so that the next call is a trial. */
export async function endTrial(db: DbOrTx, key: CircuitKey): Promise<void> {
  await db.updateTable('circuits').set({ trial_until: null }).where(isOf(key)).execute();
}

/** Deletes the circuit with its failures, after the app has answered. */
export async function closeCircuit(db: DbOrTx, key: CircuitKey): Promise<void> {
  await db.deleteFrom('circuits').where(isOf(key)).execute();
}

/** Returns the newest circuits with failures, at most `limit`. */
export async function newestCircuits(
  db: DbOrTx,
  limit: number,
): Promise<(CircuitKey & { state: CircuitState })[]> {
  const rows = await db
    .selectFrom('circuits')
    .select(['account', 'connector_id', 'action_id', 'failures', 'open_until'])
    .orderBy('failed_at', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    account: row.account,
    connectorId: row.connector_id,
    actionId: row.action_id,
    state: { failures: row.failures, openUntil: row.open_until },
  }));
}

export async function findCircuit(db: DbOrTx, key: CircuitKey): Promise<CircuitState | undefined> {
  const row = await db
    .selectFrom('circuits')
    .select(['failures', 'open_until'])
    .where(isOf(key))
    .executeTakeFirst();
  return row && { failures: row.failures, openUntil: row.open_until };
}

function isOf({ account, connectorId, actionId }: CircuitKey) {
  return sql<boolean>`account = ${account} and connector_id = ${connectorId} and action_id = ${actionId}`;
}

const ORDER: ListOrder = {
  columns: { failed_at: 'whole', circuit_id: 'id' },
  direction: 'desc',
  maxOffset: MAX_OFFSET,
};

/**
 * Returns a page of open circuits, the newest failure first.
 * @throws GatehouseError `invalid_request` for an offset beyond 10,000.
 */
export async function listOpenCircuits(
  db: DbOrTx,
  filter: PageRequest & { environment: Environment; userId?: string | undefined },
): Promise<PageEnd & { circuits: Tables['circuits'][] }> {
  let query = db
    .selectFrom('circuits')
    .selectAll()
    .where('environment', '=', filter.environment)
    .where('open_until', 'is not', null);
  if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId);
  const { rows: circuits, ...end } = await readPage(query, ORDER, filter);
  return { circuits, ...end };
}
