import type { Base } from '../base.ts';
import { MINUTE } from '../lib/clock.ts';

/** A listener is removed when its process has not renewed it for this long. */
const MAX_IDLE_MS = 10 * MINUTE;

/** Deletes the listeners whose process is gone, with their deliveries. */
export async function closeIdleListeners({ db, clock }: Pick<Base, 'db' | 'clock'>): Promise<void> {
  const idle = await db
    .selectFrom('subscriptions')
    .select('subscription_id')
    .where('kind', '=', 'listener')
    .where('updated_at', '<', clock.now() - MAX_IDLE_MS)
    .execute();
  if (idle.length === 0) return;
  // Loaded on demand, because it loads the models of all apps.
  const { closeListener } = await import('./listener.ts');
  for (const row of idle) await closeListener({ db, clock }, row.subscription_id);
}
