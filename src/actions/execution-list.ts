import { sql } from 'kysely';
import { MAX_OFFSET, readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';

export interface ExecutionFilter extends PageRequest {
  environment: Environment;
  serverId?: string | undefined;
  userId?: string | undefined;
  connectorId?: string | undefined;
  actionId?: string | undefined;
  outcome?: Tables['executions']['outcome'] | undefined;
  programId?: string | undefined;
  credentialId?: string | undefined;
  /** Epoch ms: from this time on, and before that time. */
  from?: number | undefined;
  to?: number | undefined;
}

const ORDER: ListOrder = {
  columns: { at: 'whole', execution_id: 'id' },
  direction: 'desc',
  maxOffset: MAX_OFFSET,
};

/**
 * Returns a page of executions, newest first.
 * @throws GatehouseError `invalid_request` for an offset beyond 10,000, an invalid cursor, or both together.
 */
export async function listExecutions(
  db: DbOrTx,
  filter: ExecutionFilter,
): Promise<PageEnd & { executions: Tables['executions'][] }> {
  let query = db.selectFrom('executions').selectAll().where('environment', '=', filter.environment);
  const { userId, credentialId, serverId, connectorId, actionId, outcome, programId } = filter;
  const [narrowest, wanted] =
    credentialId === undefined ? (['user_id', userId] as const) : (['credential_id', credentialId] as const);
  if (wanted !== undefined) query = query.where(narrowest, '=', wanted);
  const others = {
    ...(credentialId === undefined ? {} : { user_id: userId }),
    server_id: serverId,
    connector_id: connectorId,
    action_id: actionId,
    outcome,
    program_id: programId,
  };
  for (const [column, value] of Object.entries(others)) {
    if (value === undefined) continue;
    // SQLite does not know that an account or a user has few of the calls. `column || ''` matches no index, so theirs is left.
    const compared = wanted === undefined ? sql.ref(column) : sql`${sql.ref(column)} || ''`;
    query = query.where(compared, '=', value);
  }
  if (filter.from !== undefined) query = query.where('at', '>=', filter.from);
  if (filter.to !== undefined) query = query.where('at', '<', filter.to);
  const { rows: executions, ...end } = await readPage(query, ORDER, filter);
  return { executions, ...end };
}
