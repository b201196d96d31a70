import { sql } from 'kysely';
import type { Base } from '../base.ts';
import type { RunRow } from './begin.ts';
import type { DbOrTx } from '../store/schema.ts';
import { LEASE_MS } from './step-rows.ts';

type ClaimContext = Pick<Base, 'db' | 'clock'>;

/** The capacity of a process for runs. */
interface Slots {
  most: number;
  /** The user of each running run. */
  users: readonly string[];
}

/** Returns the most slots for one user: three quarters, so that endless runs of one user do not block the others. */
const shareOf = (most: number): number => Math.ceil((most * 3) / 4);

/**
 * Leases due runs: queued ones, ones whose wait is over, and ones whose process died.
 * Each run goes to one process. An installation gets at most as many at a time as its definition allows.
 */
export async function claimRuns(context: ClaimContext, { most, users }: Slots): Promise<RunRow[]> {
  const taken: RunRow[] = [];
  const held = new Map<string, number>();
  const hold = (userId: string) => held.set(userId, (held.get(userId) ?? 0) + 1);
  const isFull = (userId: string) => (held.get(userId) ?? 0) >= shareOf(most);
  users.forEach(hold);
  for (let known = -1; ;) {
    const free = most - users.length - taken.length;
    const full = [...held.keys()].filter(isFull);
    // A second query runs only if a user's share filled up and may have hidden runs of other users.
    if (free <= 0 || full.length === known) return taken;
    known = full.length;
    const due = await dueRuns(context, free, full);
    for (const one of due) {
      const run = isFull(one.user_id) ? undefined : await take(context, one);
      if (run) taken.push(run);
      if (run) hold(run.user_id);
    }
  }
}

type DueRun = Pick<RunRow, 'run_id' | 'installation_id' | 'user_id' | 'status' | 'fence' | 'next_at'>;

async function dueRuns(context: ClaimContext, limit: number, full: readonly string[]): Promise<DueRun[]> {
  const { db, clock } = context;
  return (
    db
      .selectFrom('workflow_runs')
      .select(['run_id', 'installation_id', 'user_id', 'status', 'fence', 'next_at'])
      // The statuses are literals, so that the planner can use the partial index.
      .where(sql<boolean>`status in ('queued', 'running', 'waiting')`)
      .where('next_at', '<=', clock.now())
      .$if(full.length > 0, (query) => query.where('user_id', 'not in', full))
      .where((e) =>
        e.or([
          e('status', '=', 'running'),
          e('installation_id', 'is', null),
          e('installation_id', 'not in', fullInstallations(context)),
        ]),
      )
      .orderBy('next_at')
      .orderBy('run_id')
      .limit(limit)
      .execute()
  );
}

/** Leases a run; undefined when another process was faster, or the installation is at its limit. */
async function take({ db, clock }: ClaimContext, one: DueRun): Promise<RunRow | undefined> {
  return db.transaction().execute(async (tx) => {
    if (!(await hasRoom(tx, one))) return undefined;
    const now = clock.now();
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
}

/** Locks the installation, so that processes count its runs one after the other. */
async function hasRoom(tx: DbOrTx, { installation_id: installationId, status }: DueRun): Promise<boolean> {
  if (installationId === null || status === 'running') return true;
  const installation = await tx
    .updateTable('workflow_installations')
    .set((e) => ({ concurrency: e.ref('concurrency') }))
    .where('installation_id', '=', installationId)
    .returning('concurrency')
    .executeTakeFirst();
  const running = await tx
    .selectFrom('workflow_runs')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('installation_id', '=', installationId)
    .where('status', '=', sql.lit('running'))
    .executeTakeFirstOrThrow();
  return installation !== undefined && Number(running.count) < installation.concurrency;
}

/** Returns installations with as many running runs as they may have. */
function fullInstallations({ db }: Pick<Base, 'db'>) {
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
