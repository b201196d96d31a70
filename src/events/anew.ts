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
  other(tx: Transaction<Tables>, credentialId: string): Promise<void>;
  /** The account of a credential is at another address, in this transaction. */
  moved(tx: Transaction<Tables>, credentialId: string): Promise<void>;
}

export function createListening(context: Pick<Context, 'clock'>): Listening {
  return {
    other: (tx, credentialId) => listenAnew(tx, context, credentialId),
    moved: (tx, credentialId) => registerAnew(tx, context, credentialId),
  };
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
  await forgetHooks(tx, context, credentialId);
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
      created_at: now,
    })
    .where('credential_id', '=', credentialId)
    .where('status', '!=', 'ending')
    .returning('source_id')
    .execute();
  for (const { source_id: sourceId } of listened)
    await planJob(tx, context, { kind: 'anew', key: sourceId, payload: { sourceId, leaseToken } });
}

/** What was seen is still true of the account; the poll after registering closes the gap. */
async function registerAnew(
  tx: Transaction<Tables>,
  context: Pick<Context, 'clock'>,
  credentialId: string,
): Promise<void> {
  for (const { source_id: sourceId, status, hook_state: state } of await forgetHooks(
    tx,
    context,
    credentialId,
  ))
    if (status !== 'ending' && state !== 'none')
      await planJob(tx, context, { kind: 'register', key: sourceId, payload: { sourceId } });
}

/** Where apps count their registrations, the ids of ours are those of others at another address. Also of sources that end. */
function forgetHooks(tx: Transaction<Tables>, { clock }: Pick<Context, 'clock'>, credentialId: string) {
  return tx
    .updateTable('sources')
    .set({
      hook_hash: null,
      hook_sealed: null,
      hook_state: sql<'none' | 'wanted'>`case when hook_state = 'none' then 'none' else 'wanted' end`,
      updated_at: clock.now(),
    })
    .where('credential_id', '=', credentialId)
    .returning(['source_id', 'status', 'hook_state'])
    .execute();
}
