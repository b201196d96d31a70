import type { Context } from '../context.ts';
import { updateInBatches } from '../store/batches.ts';
import { IS_OFFERED, WAITS } from './claim.ts';

/**
 * Cancels what a disabled subscription still waits for, few at a time: 100,000 in one statement kept everybody else waiting
 * for 220 ms. `signal`: stops between two.
 *
 * Disabling comes first, by itself: from then on nobody numbers, offers or claims a delivery of it. Each batch asks in its own
 * statement whether it is still disabled, so what it cancels was waiting while it was. Enabling runs this to its end and
 * becomes active after it (subscriptions.ts, operator.ts): so all that waited is cancelled, as it would be by one statement,
 * and what is published, replayed or recovered later is never met by a batch. Who stops amid it leaves the rest to the next
 * sweep, or to the enabling.
 *
 * PostgreSQL passes over rows that somebody else holds, so that nobody waits for us: those are being written or claimed
 * this moment. What of them still waits is found later in the same way, and is no more than a delivery that goes out.
 */
export async function cancelWaiting(
  { db, clock, store }: Pick<Context, 'db' | 'clock' | 'store'>,
  subscriptionId: string,
  signal?: AbortSignal,
): Promise<void> {
  for (const which of [WAITS, IS_OFFERED]) {
    await updateInBatches(
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

/** Takes up what nobody finished, because its process ended or a row was held. */
export async function cancelLeftovers(context: Pick<Context, 'db' | 'clock' | 'store'>): Promise<void> {
  const disabled = await context.db
    .selectFrom('subscriptions')
    .select('subscription_id')
    .where('status', '=', 'disabled')
    .execute();
  for (const row of disabled) await cancelWaiting(context, row.subscription_id);
}
