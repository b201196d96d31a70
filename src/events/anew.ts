import { randomUUID } from 'node:crypto';
import { sql, type Transaction } from 'kysely';
import type { Context } from '../context.ts';
import { planJob } from '../jobs/jobs.ts';
import { DAY } from '../lib/clock.ts';
import type { Tables } from '../store/schema.ts';

/** Until what was seen is forgotten, nobody polls; only a job that nobody ran for so long leaves that. */
const LEASE_MS = 30 * DAY;

/** What rooms below tell of: they know that a connection leads elsewhere, and nothing of who listens to it. */
export interface Listening {
  /** Another account took the place of the one of a credential, in this transaction. */
  anew(tx: Transaction<Tables>, credentialId: string): Promise<void>;
}

export function createListening(context: Pick<Context, 'clock'>): Listening {
  return { anew: (tx, credentialId) => listenAnew(tx, context, credentialId) };
}

/**
 * The records of the other account are others, and nothing of the old one's time is known of them. Webhooks that waited
 * are dropped, and those to come lead nowhere. What was seen is forgotten afterwards, few rows at a time, by a job.
 */
async function listenAnew(
  tx: Transaction<Tables>,
  context: Pick<Context, 'clock'>,
  credentialId: string,
): Promise<void> {
  const now = context.clock.now();
  const leaseToken = randomUUID();
  // Who turns one into an event marks it in that transaction, and finds it gone. Before the sources, as there.
  await tx
    .deleteFrom('inbox')
    .where('processed_at', 'is', null)
    .where('source_id', 'in', (some) =>
      some.selectFrom('sources').select('source_id').where('credential_id', '=', credentialId),
    )
    .execute();
  const listened = await tx
    .updateTable('sources')
    .set({
      status: 'active',
      reason: null,
      baseline_at: null,
      cursor_until: null,
      continuation: null,
      next_poll_at: now,
      next_reconcile_at: null,
      lease_token: leaseToken,
      lease_until: now + LEASE_MS,
      hook_hash: null,
      hook_sealed: null,
      hook_state: sql<'none' | 'wanted'>`case when hook_state = 'none' then 'none' else 'wanted' end`,
      created_at: now,
      updated_at: now,
    })
    .where('credential_id', '=', credentialId)
    .where('status', '!=', 'ending')
    .returning('source_id')
    .execute();
  for (const { source_id: sourceId } of listened)
    await planJob(tx, context, { kind: 'anew', key: sourceId, payload: { sourceId, leaseToken } });
}
