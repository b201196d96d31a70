import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { newOrderedId } from '../lib/ids.ts';
import { MAX_OFFSET, readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';

/** One administrative operation: caller, target and status. */
interface AuditEntry {
  environment: Environment;
  requestId: string;
  /** The caller's label: `key:<keyId>`, `jwt:<userId>`. */
  caller: string;
  /** The operationId of the route. */
  operation: string;
  target: string | undefined;
  status: number;
}

/** Adds to the audit log of administration. Actions on connectors have their own: actions/executions.ts. */
export async function recordAudit(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  { requestId, target, ...entry }: AuditEntry,
): Promise<void> {
  const at = clock.now();
  await db
    .insertInto('audit')
    .values({
      ...entry,
      audit_id: newOrderedId('aud', at),
      at,
      request_id: requestId,
      target: target ?? null,
    })
    .execute();
}

const ORDER: ListOrder = {
  columns: { at: 'whole', audit_id: 'id' },
  direction: 'desc',
  maxOffset: MAX_OFFSET,
};

/** Returns a page of entries, newest first. @throws GatehouseError `invalid_request` for an offset beyond 10,000. */
export async function listAudit(
  db: DbOrTx,
  environment: Environment,
  page: PageRequest,
): Promise<PageEnd & { entries: (Tables['audit'] & { key_name: string | null })[] }> {
  const query = db
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
  const { rows: entries, ...end } = await readPage(query, ORDER, page);
  return { entries, ...end };
}
