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
  if (filter.serverId !== undefined) query = query.where('server_id', '=', filter.serverId);
  if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId);
  if (filter.connectorId !== undefined) query = query.where('connector_id', '=', filter.connectorId);
  if (filter.actionId !== undefined) query = query.where('action_id', '=', filter.actionId);
  if (filter.outcome !== undefined) query = query.where('outcome', '=', filter.outcome);
  if (filter.from !== undefined) query = query.where('at', '>=', filter.from);
  if (filter.to !== undefined) query = query.where('at', '<', filter.to);
  const { rows: executions, ...end } = await readPage(query, ORDER, filter);
  return { executions, ...end };
}
