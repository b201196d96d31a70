import type { Context } from '../context.ts';
import { newOrderedId } from '../lib/ids.ts';
import type { DbOrTx, Environment, Tables } from '../store/schema.ts';

/** One act of administration: who did what to which thing, and how it ended. */
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

/** The record of administration. Actions on connectors have their own: actions/executions.ts. */
export interface Audit {
  record(entry: AuditEntry): Promise<void>;
}

export function createAudit({ db, clock }: Pick<Context, 'db' | 'clock'>): Audit {
  return {
    async record(entry) {
      await db
        .insertInto('audit')
        .values({
          audit_id: newOrderedId('aud', clock.now()),
          environment: entry.environment,
          at: clock.now(),
          request_id: entry.requestId,
          caller: entry.caller,
          operation: entry.operation,
          target: entry.target ?? null,
          status: entry.status,
        })
        .execute();
    },
  };
}

/** A page of entries, newest first. */
export async function listAudit(
  db: DbOrTx,
  environment: Environment,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ entries: Tables['audit'][]; hasMore: boolean }> {
  const rows = await db
    .selectFrom('audit')
    .selectAll()
    .where('environment', '=', environment)
    .orderBy('at', 'desc')
    .orderBy('audit_id', 'desc')
    .limit(limit + 1)
    .offset(offset)
    .execute();
  return { entries: rows.slice(0, limit), hasMore: rows.length > limit };
}
