import type { Context } from '../context.ts';
import { DAY, HOUR } from '../lib/clock.ts';

/** How long runs are kept after their end, with what went in and out. */
const RUNS_KEPT_MS = 30 * DAY;
const SWEEP_MS = HOUR;
/** Few at a time: SQLite has one writer. */
const AT_ONCE = 200;

const sweptAt = new WeakMap<Context['db'], number>();

/** Deletes runs that had their time, once an hour. */
export async function deleteOldRuns({ db, clock }: Pick<Context, 'db' | 'clock'>): Promise<void> {
  const now = clock.now();
  if (now - (sweptAt.get(db) ?? -Infinity) < SWEEP_MS) return;
  sweptAt.set(db, now);
  for (;;) {
    const old = await db
      .selectFrom('workflow_runs')
      .select('run_id')
      .where('ended_at', '<', now - RUNS_KEPT_MS)
      .limit(AT_ONCE)
      .execute();
    const ids = old.map((row) => row.run_id);
    if (ids.length > 0) await db.deleteFrom('workflow_runs').where('run_id', 'in', ids).execute();
    if (ids.length < AT_ONCE) return;
  }
}
