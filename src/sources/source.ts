import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { EventScope } from '../connectors/event-scopes.ts';
import { eventScope } from '../connectors/events-format.ts';
import type { Context } from '../context.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import type { DbOrTx, Environment, Tables } from '../store/schema.ts';

/**
 * The end of a lease that has none: until what was seen of another account is forgotten (account-switch.ts). It stands in the source's
 * own row, so whoever waits for that row to take it sees it then.
 */
export const UNTIL_FORGOTTEN = Number.MAX_SAFE_INTEGER;

/** Where events of a connection and scope come from. Times are epoch milliseconds. */
export interface Source {
  sourceId: string;
  environment: Environment;
  userId: string;
  credentialId: string;
  connectorId: string;
  scope: EventScope;
  kind: 'native' | 'polling';
  status: 'active' | 'suspended' | 'ending';
  /** The app's time at which listening began. */
  baselineAt: number | null;
  /** The app's time up to which everything was seen. */
  cursorUntil: number | null;
  continuation: Continuation | null;
  nextPollAt: number;
  intervalMs: number;
  nextReconcileAt: number | null;
  failures: number;
  /** Since when somebody listens, by our clock. */
  createdAt: number;
  leaseToken: string | null;
  /** What was seen of another account is being forgotten: until then nobody else works on it. */
  isForgetting: boolean;
  hookSealed: string | null;
  hookState: Tables['sources']['hook_state'];
}

/** Where a reading that takes several rounds goes on. */
export interface Continuation {
  since: number | null;
  until: number;
  /** Which pass over the list it is, from 1 on. */
  pass: number;
  /** Whether this pass brought something so far that was not known before it. */
  isFruitful: boolean;
  /** Which of the lists that are read one after the other, and what all of them are, as a hash. */
  group: number;
  groups: string;
  /** Later than `since` where the app gave no more of the list from there on. */
  after: number | null;
  offset: number;
  /** The app said that more follow there. */
  isPromised: boolean;
  /** The time of the last record before. */
  reached: number | null;
  position: { offset: number; cursor?: string | undefined; pages: number; earlier: string } | null;
}

const continuation = z.object({
  since: z.number().nullable(),
  until: z.number(),
  pass: z.number().default(1),
  isFruitful: z.boolean().default(true),
  group: z.number(),
  groups: z.string().default(''),
  after: z.number().nullable().default(null),
  offset: z.number(),
  isPromised: z.boolean().default(false),
  reached: z.number().nullable().default(null),
  position: z
    .object({ offset: z.number(), cursor: z.string().optional(), pages: z.number(), earlier: z.string() })
    .nullable(),
});

export function toSource(row: Selectable<Tables['sources']>): Source {
  return {
    sourceId: row.source_id,
    environment: row.environment,
    userId: row.user_id,
    credentialId: row.credential_id,
    connectorId: row.connector_id,
    scope: eventScope.parse(row.scope),
    kind: row.kind,
    status: row.status,
    baselineAt: row.baseline_at,
    cursorUntil: row.cursor_until,
    continuation: row.continuation === null ? null : continuation.parse(JSON.parse(row.continuation)),
    nextPollAt: row.next_poll_at,
    intervalMs: row.interval_ms,
    nextReconcileAt: row.next_reconcile_at,
    failures: row.failures,
    createdAt: row.created_at,
    leaseToken: row.lease_token,
    isForgetting: row.lease_until === UNTIL_FORGOTTEN,
    hookSealed: row.hook_sealed,
    hookState: row.hook_state,
  };
}

/** When to look again whether the first poll was made: one that failed is not made again within a minute or so. */
export function firstPollWaitMs({ failures }: Source): number {
  return failures === 0 ? SECOND : MINUTE;
}

/** Makes a source due. A round that is under way leaves this in place, since it may have read before the change. */
export async function pollNow(
  db: DbOrTx,
  { clock }: Pick<Context, 'clock'>,
  sourceId: string,
): Promise<void> {
  const now = clock.now();
  await db
    .updateTable('sources')
    .set({ next_poll_at: now, updated_at: now })
    .where('source_id', '=', sourceId)
    .execute();
}

/** Makes a source due at a time, unless it is sooner. */
export async function pollBy(db: DbOrTx, sourceId: string, at: number): Promise<void> {
  await db
    .updateTable('sources')
    .set({ next_poll_at: at })
    .where('source_id', '=', sourceId)
    .where('next_poll_at', '>', at)
    .execute();
}
