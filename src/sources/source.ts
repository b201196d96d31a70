import type { Selectable } from 'kysely';
import { z } from 'zod';
import { sourceScope } from '../connectors/event-scopes.ts';
import type { Base } from '../base.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { NO_EXPIRY } from '../runtime/lease.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';

/**
 * Lease expiry of a source whose account was switched. The job in account-switch-job.ts prunes the records of
 * the previous account and then clears the lease. The lease is a column of the source's row. A transaction
 * that waits for that row's lock therefore sees the lease once it gets the lock.
 */
export const UNTIL_PRUNED = NO_EXPIRY;

/** Source of the events of a connection and scope. Times are epoch milliseconds. */
export type Source = ReturnType<typeof toSource>;

/** Place at which the next poll continues a listing. It is stored as JSON. */
export type Continuation = z.output<typeof continuation>;

const continuation = z.object({
  since: z.number().nullable(),
  until: z.number(),
  /** Number of the page walk, from 1. */
  pass: z.number().default(1),
  /** True when this page walk has found a record or a state that was not known. */
  isFruitful: z.boolean().default(true),
  /** Index of the current list, when a model has several; and the hash of the inputs of all of them. */
  group: z.number(),
  groups: z.string().default(''),
  /**
   * Lower bound of the current list, later than `since`; null when it is `since`. It is set when the app
   * gives no further pages.
   */
  after: z.number().nullable().default(null),
  offset: z.number(),
  /** True when the app announced more records at `offset`. */
  isPromised: z.boolean().default(false),
  /** Time of the last record that was read; null when unknown. */
  reached: z.number().nullable().default(null),
  position: z
    .object({ offset: z.number(), cursor: z.string().optional(), pages: z.number(), earlier: z.string() })
    .nullable(),
});

export function toSource(row: Selectable<Tables['sources']>) {
  return {
    sourceId: row.source_id,
    environment: row.environment,
    userId: row.user_id,
    credentialId: row.credential_id,
    connectorId: row.connector_id,
    scope: sourceScope.parse(row.scope),
    kind: row.kind,
    status: row.status,
    /** Time of the app at which collecting began; null before the first poll. */
    baselineAt: row.baseline_at,
    /** Time of the app up to which all changes were read; null before the first complete listing. */
    cursorUntil: row.cursor_until,
    continuation: row.continuation === null ? null : continuation.parse(JSON.parse(row.continuation)),
    nextPollAt: row.next_poll_at,
    intervalMs: row.interval_ms,
    nextReconcileAt: row.next_reconcile_at,
    failures: row.failures,
    /** Time at which collecting began, by our clock. Each account switch raises it. */
    createdAt: row.created_at,
    leaseToken: row.lease_token,
    /** True while the records of the previous account are pruned. Polls and registrations wait until then. */
    isPruning: row.lease_until === UNTIL_PRUNED,
    hookSealed: row.hook_sealed,
    hookState: row.hook_state,
  };
}

/**
 * Returns the wait until the next check for the first poll. After a failure, the poll is not repeated within
 * about a minute.
 */
export function firstPollWaitMs({ failures }: Source): number {
  return failures === 0 ? SECOND : MINUTE;
}

/**
 * Makes a source due now. A running poll keeps this time, because it may have read the list before the
 * change.
 */
export async function pollNow(db: DbOrTx, { clock }: Pick<Base, 'clock'>, sourceId: string): Promise<void> {
  const now = clock.now();
  await db
    .updateTable('sources')
    .set({ next_poll_at: now, updated_at: now })
    .where('source_id', '=', sourceId)
    .execute();
}

/** Makes a source due at a time, unless it is due earlier. */
export async function pollBy(db: DbOrTx, sourceId: string, at: number): Promise<void> {
  await db
    .updateTable('sources')
    .set({ next_poll_at: at })
    .where('source_id', '=', sourceId)
    .where('next_poll_at', '>', at)
    .execute();
}
