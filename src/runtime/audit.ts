import { sql } from 'kysely';
import { MAX_OFFSET, readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';

/** One administrative operation: caller, target and status. */
export interface AuditEntry {
  environment: Environment;
  requestId: string;
  /** The caller's label: `key:<keyId>`, `person:<personId>`, `jwt:<userId>`. */
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

/** An entry with the names that its caller has now: of a named key, or of a person. */
export type AuditRow = Tables['audit'] & {
  key_name: string | null;
  person_name: string | null;
  person_email: string | null;
};

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
): Promise<PageEnd & { entries: AuditRow[] }> {
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
    .select((e) => {
      const person = e
        .selectFrom('console_people')
        .where('person_id', '=', sql<string>`substr(audit.caller, 8)`);
      return [person.select('name').as('person_name'), person.select('email').as('person_email')];
    })
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
