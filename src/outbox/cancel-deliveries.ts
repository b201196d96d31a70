import type { Base } from '../base.ts';
import { inBatches } from '../store/batches.ts';
import { IS_HANDED_OFF, WAITS } from './due.ts';

/**
 * Cancels the waiting deliveries of a disabled subscription in batches. One statement over 100,000 rows blocked all other
 * writers for 220 ms. `signal` stops the loop between two batches.
 *
 * The caller disables the subscription first, in a transaction of its own. From then on no process numbers, hands off or
 * claims a delivery of it. Each batch checks in its own statement that the subscription is still disabled. Enabling runs
 * this function to its end and then activates the subscription (src/subscriptions/subscriptions.ts, operator-address.ts).
 * So every delivery that waited is cancelled, and no batch cancels one that is published, replayed or recovered later.
 * If a process stops halfway, the next sweep or the enabling cancels the rest.
 *
 * PostgreSQL skips rows that another transaction has locked, because it is writing or claiming them. A skipped row that
 * still waits is cancelled by the next sweep; at worst it is delivered once more before that.
 */
export async function cancelWaiting(
  { db, clock, store }: Pick<Base, 'db' | 'clock' | 'store'>,
  subscriptionId: string,
  signal?: AbortSignal,
): Promise<void> {
  for (const which of [WAITS, IS_HANDED_OFF]) {
    await inBatches(
      (limit) =>
        db
          .updateTable('deliveries')
          .set({ status: 'cancelled', lease_token: null, updated_at: clock.now() })
          .where('delivery_id', 'in', (some) =>
            some
              .selectFrom('deliveries')
              .select('delivery_id')
              .where('subscription_id', '=', subscriptionId)
              .where(which)
              .limit(limit)
              .$if(store.kind === 'postgres', (query) => query.forUpdate().skipLocked()),
          )
          .where((e) =>
            e.exists(
              e
                .selectFrom('subscriptions')
                .select('subscription_id')
                .where('subscription_id', '=', subscriptionId)
                .where('status', '=', 'disabled'),
            ),
          )
          .executeTakeFirst(),
      signal,
    );
  }
}

/** Cancels deliveries of disabled subscriptions that were left waiting by a process that ended, or by a locked row. */
export async function cancelLeftovers(context: Pick<Base, 'db' | 'clock' | 'store'>): Promise<void> {
  const disabled = await context.db
    .selectFrom('subscriptions')
    .select('subscription_id')
    .where('status', '=', 'disabled')
    .execute();
  for (const row of disabled) await cancelWaiting(context, row.subscription_id);
}
