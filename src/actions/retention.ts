import { DAY, HOUR } from '../lib/clock.ts';
import { deleteInBatches } from '../store/batches.ts';
import { ENVIRONMENTS, type DbOrTx } from '../store/schema.ts';

/** How long the record of executions is kept. */
const EXECUTIONS_KEPT_MS = 90 * DAY;

/** How long the outcome of a connect session can still be asked for. */
const SESSIONS_KEPT_MS = DAY;

/** Whoever listens looks every second. */
const CHANGES_KEPT_MS = HOUR;

/** How long what actions are found by is kept while no process searches it. */
const SEARCH_KEPT_MS = 7 * DAY;

/** Deletes what has had its time: executions, answers kept for idempotency keys, positions in lists, large results,
 *  confirmation tokens, notes of changes, connect sessions, and consents that never came back. */
export async function deleteOldRows(db: DbOrTx, now: number): Promise<void> {
  for (const environment of ENVIRONMENTS) {
    await deleteInBatches((limit) =>
      db
        .deleteFrom('executions')
        .where('execution_id', 'in', (old) =>
          old
            .selectFrom('executions')
            .select('execution_id')
            .where('environment', '=', environment)
            .where('at', '<', now - EXECUTIONS_KEPT_MS)
            .orderBy('at')
            .limit(limit),
        )
        .executeTakeFirstOrThrow(),
    );
  }
  await db.deleteFrom('idempotency').where('expires_at', '<=', now).execute();
  await db.deleteFrom('page_positions').where('expires_at', '<=', now).execute();
  await db
    .deleteFrom('search_documents')
    .where('used_at', '<', now - SEARCH_KEPT_MS)
    .execute();
  await db.deleteFrom('results').where('expires_at', '<=', now).execute();
  await db
    .deleteFrom('changes')
    .where('at', '<', now - CHANGES_KEPT_MS)
    .execute();
  await db.deleteFrom('spent_tokens').where('expires_at', '<=', now).execute();
  await db.deleteFrom('oauth_states').where('expires_at', '<=', now).execute();
  await db
    .deleteFrom('connect_sessions')
    .where('expires_at', '<=', now - SESSIONS_KEPT_MS)
    .execute();
}
