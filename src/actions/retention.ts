import { DAY } from '../lib/clock.ts';
import type { DbOrTx } from '../store/schema.ts';

/** How long the record of executions is kept. */
const EXECUTIONS_KEPT_MS = 90 * DAY;

/** Deletes what has had its time: executions, answers kept for idempotency keys, positions in lists, large results. */
export async function deleteOldRows(db: DbOrTx, now: number): Promise<void> {
  await db
    .deleteFrom('executions')
    .where('at', '<', now - EXECUTIONS_KEPT_MS)
    .execute();
  await db.deleteFrom('idempotency').where('expires_at', '<=', now).execute();
  await db.deleteFrom('page_positions').where('expires_at', '<=', now).execute();
  await db.deleteFrom('results').where('expires_at', '<=', now).execute();
}
