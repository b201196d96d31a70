import type { Context } from '../context.ts';
import { MINUTE } from '../lib/clock.ts';

/** A listener that no process runs any more is removed after this. */
const KEPT_MS = 10 * MINUTE;

/** Removes the listeners whose process is gone, with their deliveries. */
export async function closeIdleListeners({ db, clock }: Pick<Context, 'db' | 'clock'>): Promise<void> {
  const idle = await db
    .selectFrom('subscriptions')
    .select('subscription_id')
    .where('kind', '=', 'listener')
    .where('updated_at', '<', clock.now() - KEPT_MS)
    .execute();
  if (idle.length === 0) return;
  // Loaded when there is one, because it loads the models of all apps.
  const { closeListener } = await import('./listener.ts');
  for (const row of idle) await closeListener({ db, clock }, row.subscription_id);
}
