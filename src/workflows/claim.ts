import { sql } from 'kysely';
import type { Context } from '../context.ts';
import type { RunRow } from './begin.ts';
import { LEASE_MS } from './steps.ts';

type ClaimContext = Pick<Context, 'db' | 'clock'>;

/**
 * Takes runs whose time has come: queued ones, ones that waited, and ones whose process died; each for one process, and
 * of an installation at most as many at a time as its definition says.
 */
export async function claimRuns(context: ClaimContext, most: number): Promise<RunRow[]> {
  const taken: RunRow[] = [];
  if (most <= 0) return taken;
  const { db, clock } = context;
  const now = clock.now();
  const due = await db
    .selectFrom('workflow_runs')
    .select(['run_id', 'installation_id', 'status', 'fence', 'next_at'])
    // Written out, so that the partial index is seen to fit.
    .where(sql<boolean>`status in ('queued', 'running', 'waiting')`)
    .where('next_at', '<=', now)
    .where((e) =>
      e.or([
        e('status', '=', 'running'),
        e('installation_id', 'is', null),
        e('installation_id', 'not in', fullInstallations(context)),
      ]),
    )
    .orderBy('next_at')
    .orderBy('run_id')
    .limit(most)
    .execute();
  for (const one of due) {
    const run = await db.transaction().execute(async (tx) => {
      // Whoever takes a run of this installation waits here for others who do, so that the count holds.
      if (one.installation_id !== null && one.status !== 'running') {
        const installation = await tx
          .updateTable('workflow_installations')
          .set((e) => ({ concurrency: e.ref('concurrency') }))
          .where('installation_id', '=', one.installation_id)
          .returning('concurrency')
          .executeTakeFirst();
        const running = await tx
          .selectFrom('workflow_runs')
          .select((e) => e.fn.countAll<number>().as('count'))
          .where('installation_id', '=', one.installation_id)
          .where('status', '=', sql.lit('running'))
          .executeTakeFirstOrThrow();
        if (!installation || Number(running.count) >= installation.concurrency) return undefined;
      }
      return tx
        .updateTable('workflow_runs')
        .set((e) => ({
          status: 'running',
          fence: e('fence', '+', 1),
          next_at: now + LEASE_MS,
          started_at: e.fn.coalesce('started_at', e.val(now)),
          updated_at: now,
        }))
        .where('run_id', '=', one.run_id)
        .where('status', '=', one.status)
        .where('fence', '=', one.fence)
        .where('next_at', '=', one.next_at)
        .returningAll()
        .executeTakeFirst();
    });
    if (run) taken.push(run);
  }
  return taken;
}

/** Installations that have as many runs under way as they may. */
function fullInstallations({ db }: Pick<Context, 'db'>) {
  return db
    .selectFrom('workflow_runs as under_way')
    .innerJoin(
      'workflow_installations',
      'workflow_installations.installation_id',
      'under_way.installation_id',
    )
    .select('workflow_installations.installation_id')
    .where('under_way.status', '=', sql.lit('running'))
    .groupBy(['workflow_installations.installation_id', 'workflow_installations.concurrency'])
    .having((e) => e(e.fn.countAll(), '>=', e.ref('workflow_installations.concurrency')));
}
