import { sql } from 'kysely';
import { MAX_OFFSET, readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';

/** One administrative operation: caller, target and status. */
export interface AuditEntry {
  environment: Environment;
  requestId: string;
  /** The caller's label: `key:<keyId>`, `jwt:<userId>`. */
  caller: string;
  /** The operationId of the route. */
  operation: string;
  target: string | undefined;
  status: number;
}

/** Filters of the audit log. Times are epoch ms; `until` is exclusive. */
export interface AuditFilter {
  since?: number | undefined;
  until?: number | undefined;
  caller?: string | undefined;
  operation?: string | undefined;
  target?: string | undefined;
}

const ORDER: ListOrder = {
  columns: { at: 'whole', audit_id: 'id' },
  direction: 'desc',
  maxOffset: MAX_OFFSET,
};

/**
 * Returns a page of entries, newest first. Actions on connectors have a log of their own: actions/executions.ts.
 * @throws GatehouseError `invalid_request` for an offset beyond 10,000.
 */
export async function listAudit(
  db: DbOrTx,
  environment: Environment,
  page: PageRequest & AuditFilter,
): Promise<PageEnd & { entries: (Tables['audit'] & { key_name: string | null })[] }> {
  let query = db
    .selectFrom('audit')
    .selectAll()
    .select((e) =>
      e
        .selectFrom('api_keys')
        .select('name')
        .where('key_id', '=', sql<string>`substr(audit.caller, 5)`)
        .as('key_name'),
    )
    .where('environment', '=', environment);
  const { since, until } = page;
  if (since !== undefined) query = query.where('at', '>=', since);
  if (until !== undefined) query = query.where('at', '<', until);
  for (const column of ['caller', 'operation', 'target'] as const) {
    const value = page[column];
    if (value !== undefined) query = query.where(column, '=', value);
  }
  const { rows: entries, ...end } = await readPage(query, ORDER, page);
  return { entries, ...end };
}
