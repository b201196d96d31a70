import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { DAY, HOUR } from '../lib/clock.ts';
import { inSteps } from '../store/batches.ts';
import type { Db } from '../store/schema.ts';

/** How long runs are stored after their end, with their inputs and outputs. */
const RUNS_KEPT_MS = 30 * DAY;
const SWEEP_MS = HOUR;

/** Creates the sweep that deletes expired runs, once an hour. */
export function createRunSweep(): (context: Pick<Base, 'db' | 'clock'>) => Promise<void> {
  let sweptAt = -Infinity;
  return async ({ db, clock }) => {
    const now = clock.now();
    if (now - sweptAt < SWEEP_MS) return;
    sweptAt = now;
    await inSteps((limit) => deleteSome(db, now - RUNS_KEPT_MS, limit));
    await inSteps((limit) => deleteWrites(db, now, limit));
  };
}

async function deleteSome(db: Db, before: number, limit: number): Promise<number> {
  const old = await db
    .selectFrom('workflow_runs')
    .select('run_id')
    .where('ended_at', '<', before)
    .orderBy('ended_at')
    .limit(limit)
    .execute();
  const ids = old.map((row) => row.run_id);
  if (ids.length === 0) return 0;
  await deleteSteps(db, ids);
  await db.deleteFrom('workflow_runs').where('run_id', 'in', ids).execute();
  return ids.length;
}

/** Deletes written records whose events did not come. */
async function deleteWrites(db: Db, before: number, limit: number): Promise<bigint> {
  const old = db
    .selectFrom('workflow_writes')
    .select('record_hash')
    .where('expires_at', '<', before)
    .orderBy('expires_at')
    .limit(limit);
  const { numDeletedRows } = await db
    .deleteFrom('workflow_writes')
    .where('record_hash', 'in', old)
    .executeTakeFirst();
  return numDeletedRows;
}

/** Deletes steps in batches, because a run may have 10,000 of them. */
async function deleteSteps(db: Db, runIds: string[]): Promise<void> {
  await inSteps(async (limit) => {
    const { numAffectedRows } = await sql`delete from workflow_steps where (run_id, position, item) in (
        select run_id, position, item from workflow_steps where run_id in (${sql.join(runIds)}) limit ${limit})`.execute(
      db,
    );
    return numAffectedRows ?? 0n;
  });
}
