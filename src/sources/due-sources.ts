import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { sourceScope } from '../connectors/event-scopes.ts';
import { findSourceModel } from '../connectors/source-model.ts';
import { isUnleased, LEASE_MS } from '../runtime/lease.ts';
import type { Environment } from '../store/environments.ts';
import type { Context } from './context.ts';
import { toSource, type Source } from './source.ts';

/**
 * Sources resumed at once. SQLite accepts this many parameters in a statement, and this many polls are enough
 * to start.
 */
const MAX_RESUMED = 500;

/** Claims due sources for this process, under a lease of LEASE_MS. */
export async function claimSources(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  limit: number,
): Promise<Source[]> {
  if (limit <= 0) return [];
  const now = clock.now();
  // A select comes first, because an update takes SQLite's only write lock even when it matches no row.
  const due = await db
    .selectFrom('sources')
    .select('source_id')
    .where('status', '=', 'active')
    .where('next_poll_at', '<=', now)
    .where(isUnleased('sources', now))
    .orderBy('next_poll_at')
    .limit(limit)
    .execute();
  if (due.length === 0) return [];
  const rows = await db
    .updateTable('sources')
    .set({
      lease_token: randomUUID(),
      lease_until: now + LEASE_MS,
      // A request for a poll during this one sets another time: see poll.ts.
      next_poll_at: now + LEASE_MS,
      fence: sql`fence + 1`,
    })
    .where(
      'source_id',
      'in',
      due.map((row) => row.source_id),
    )
    .where('status', '=', 'active')
    .where('next_poll_at', '<=', now)
    .where(isUnleased('sources', now))
    .returningAll()
    .execute();
  return rows.map(toSource);
}

/** Renews the lease of a poll, unless another process holds the source. */
export async function renewLease(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  { sourceId, leaseToken }: Source,
): Promise<void> {
  await db
    .updateTable('sources')
    .set({ lease_until: clock.now() + LEASE_MS })
    .where('source_id', '=', sourceId)
    .where('lease_token', '=', leaseToken)
    .execute();
}

/**
 * Polls sources of a connector at once, because it was added or changed: failing ones, and those whose scope it no
 * longer has. The poll of such a source reports that to its consumers.
 */
export async function retrySources(
  { db, clock, catalog }: Pick<Context, 'db' | 'clock' | 'catalog'>,
  { environment, connectorId }: { environment: Environment; connectorId: string },
): Promise<void> {
  const connector = catalog.connector(environment, connectorId);
  const scopes = await db
    .selectFrom('sources')
    .select('scope')
    .distinct()
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .execute();
  const gone = scopes
    .map(({ scope }) => scope)
    .filter((scope) => connector && !findSourceModel(connector, sourceScope.parse(scope)));
  await db
    .updateTable('sources')
    .set({ next_poll_at: clock.now() })
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .where('status', '=', 'active')
    .where((e) => e.or([e('failures', '>', 0), ...(gone.length > 0 ? [e('scope', 'in', gone)] : [])]))
    .execute();
}

/** Resumes suspended sources whose credential works again. They continue from their cursor. */
export async function resumeSources({ db, clock }: Pick<Base, 'db' | 'clock'>): Promise<void> {
  const now = clock.now();
  const resumable = await db
    .selectFrom('sources')
    .innerJoin('credentials', 'credentials.credential_id', 'sources.credential_id')
    .select('sources.source_id')
    .where('sources.status', '=', 'suspended')
    .where('credentials.state', '=', 'active')
    .limit(MAX_RESUMED)
    .execute();
  if (resumable.length === 0) return;
  await db
    .updateTable('sources')
    .set({ status: 'active', reason: null, failures: 0, next_poll_at: now, updated_at: now })
    .where('status', '=', 'suspended')
    .where(
      'source_id',
      'in',
      resumable.map((row) => row.source_id),
    )
    .execute();
}
