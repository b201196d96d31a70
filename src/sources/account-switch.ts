import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Base } from '../base.ts';
import type { AccountChanges } from '../credentials/ports.ts';
import { planJob } from '../runtime/jobs.ts';
import { risingTo } from '../store/rising.ts';
import type { Tx } from '../store/schema.ts';
import { UNTIL_PRUNED } from './source.ts';
import { dropUnprocessed } from './source-records.ts';

/** Switches or moves the sources of a credential whose account changed. */
export function createAccountChanges(context: Pick<Base, 'clock'>): AccountChanges {
  return {
    other: (tx, credentialId) => switchAccount(tx, context, credentialId),
    moved: (tx, credentialId) => registerAgain(tx, context, credentialId),
  };
}

/**
 * Restarts the sources of a credential for another account, whose records are all unknown. It drops waiting
 * webhooks and the addresses of later ones. A job prunes the records of the previous account in batches.
 */
async function switchAccount(tx: Tx, context: Pick<Base, 'clock'>, credentialId: string): Promise<void> {
  const now = context.clock.now();
  // A person set them up at the previous account.
  await tx.deleteFrom('manual_hooks').where('credential_id', '=', credentialId).execute();
  await clearRegistrations(tx, context, credentialId);
  const switched = await tx
    .updateTable('sources')
    .set({
      // A source that is ending may get a consumer again before its webhooks at the app are removed.
      status: sql<'active' | 'ending'>`case when status = 'ending' then 'ending' else 'active' end`,
      reason: null,
      baseline_at: null,
      cursor_until: null,
      continuation: null,
      next_poll_at: now,
      next_reconcile_at: null,
      lease_token: randomUUID(),
      lease_until: UNTIL_PRUNED,
      // Work that started before the switch compares this time and stops (lockSameSource).
      created_at: risingTo('created_at', now),
    })
    .where('credential_id', '=', credentialId)
    .returning('source_id')
    .execute();
  for (const { source_id: sourceId } of switched) {
    await dropUnprocessed(tx, sourceId);
    await restartBackfills(tx, sourceId);
    await planJob(tx, context, { kind: 'anew', key: sourceId, payload: { sourceId } });
  }
}

/** Restarts running backfills, because their position refers to records of the previous account. */
async function restartBackfills(tx: Tx, sourceId: string): Promise<void> {
  const running = await tx
    .selectFrom('subscriptions')
    .select('subscription_id')
    .where('source_id', '=', sourceId)
    .where('backfill', '=', 'running')
    .orderBy('subscription_id')
    .execute();
  for (const { subscription_id: subscriptionId } of running)
    await tx
      .updateTable('subscriptions')
      .set({ backfill: 'wanted', backfill_after: null })
      .where('subscription_id', '=', subscriptionId)
      .execute();
}

/**
 * Registers webhooks again. Known records stay, because the account is the same. The poll after registering
 * closes the gap.
 */
async function registerAgain(tx: Tx, context: Pick<Base, 'clock'>, credentialId: string): Promise<void> {
  for (const { source_id: sourceId, status, hook_state: state } of await clearRegistrations(
    tx,
    context,
    credentialId,
  ))
    if (status !== 'ending' && state !== 'none')
      await planJob(tx, context, { kind: 'register', key: sourceId, payload: { sourceId } });
}

/**
 * Clears the registrations of a credential, also those of sources that are ending. Some apps number their
 * registrations, so the same ids may belong to others at the new address.
 */
function clearRegistrations(tx: Tx, { clock }: Pick<Base, 'clock'>, credentialId: string) {
  return tx
    .updateTable('sources')
    .set({
      hook_hash: null,
      hook_sealed: null,
      kind: sql<'native' | 'polling'>`case when hook_state = 'manual' then 'polling' else kind end`,
      hook_state: sql<
        'none' | 'wanted'
      >`case when hook_state in ('none', 'manual') then 'none' else 'wanted' end`,
      updated_at: clock.now(),
    })
    .where('credential_id', '=', credentialId)
    .returning(['source_id', 'status', 'hook_state'])
    .execute();
}
