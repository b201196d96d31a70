import { z } from 'zod';
import { invalidRequest } from '../lib/errors.ts';
import type { DbOrTx, Environment, Tables } from '../store/schema.ts';

/** Deeper offsets are slow in every database; a cursor goes as deep as one likes. */
export const MAX_OFFSET = 10_000;

export interface ExecutionFilter {
  environment: Environment;
  serverId?: string | undefined;
  userId?: string | undefined;
  connectorId?: string | undefined;
  actionId?: string | undefined;
  outcome?: Tables['executions']['outcome'] | undefined;
  /** Epoch milliseconds: from this on, and before that. */
  from?: number | undefined;
  to?: number | undefined;
  limit: number;
  offset: number;
  /** `nextCursor` of the page before. */
  cursor?: string | undefined;
}

export interface ExecutionPage {
  executions: Tables['executions'][];
  hasMore: boolean;
  nextCursor: string | undefined;
}

/**
 * A page of executions, newest first.
 * @throws GatehouseError `invalid_request` for an offset beyond 10,000, a cursor that is none, or both at once.
 */
export async function listExecutions(db: DbOrTx, filter: ExecutionFilter): Promise<ExecutionPage> {
  if (filter.offset > MAX_OFFSET) {
    const rule = `must be at most ${MAX_OFFSET}; go on with cursor, the pagination.nextCursor of the last page`;
    throw invalidRequest([{ field: 'offset', rule }]);
  }
  if (filter.cursor !== undefined && filter.offset > 0) {
    throw invalidRequest([{ field: 'offset', rule: 'must be left out beside cursor' }]);
  }
  let query = db.selectFrom('executions').selectAll().where('environment', '=', filter.environment);
  if (filter.serverId !== undefined) query = query.where('server_id', '=', filter.serverId);
  if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId);
  if (filter.connectorId !== undefined) query = query.where('connector_id', '=', filter.connectorId);
  if (filter.actionId !== undefined) query = query.where('action_id', '=', filter.actionId);
  if (filter.outcome !== undefined) query = query.where('outcome', '=', filter.outcome);
  if (filter.from !== undefined) query = query.where('at', '>=', filter.from);
  if (filter.to !== undefined) query = query.where('at', '<', filter.to);
  if (filter.cursor !== undefined) {
    const { at, executionId } = readCursor(filter.cursor);
    // The outer condition alone lets the index begin there; with the inner one alone it would begin at the newest.
    query = query
      .where('at', '<=', at)
      .where((e) => e.or([e('at', '<', at), e('execution_id', '<', executionId)]));
  }
  const rows = await query
    .orderBy('at', 'desc')
    .orderBy('execution_id', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
  const executions = rows.slice(0, filter.limit);
  const hasMore = rows.length > filter.limit;
  const last = executions.at(-1);
  return { executions, hasMore, nextCursor: hasMore && last ? toCursor(last) : undefined };
}

const cursorParts = z.tuple([z.int(), z.string().max(64)]);

function toCursor(row: Tables['executions']): string {
  return Buffer.from(JSON.stringify([row.at, row.execution_id])).toString('base64url');
}

function readCursor(cursor: string): { at: number; executionId: string } {
  try {
    const [at, executionId] = cursorParts.parse(
      JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')),
    );
    return { at, executionId };
  } catch {
    throw invalidRequest([{ field: 'cursor', rule: 'must be the pagination.nextCursor of a page before' }]);
  }
}
