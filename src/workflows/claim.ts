import { sql } from 'kysely';
import type { Context } from '../context.ts';
import type { RunRow } from './begin.ts';
import type { DbOrTx } from '../store/schema.ts';
import { LEASE_MS } from './steps.ts';

type ClaimContext = Pick<Context, 'db' | 'clock'>;

/** Runs that a process carries, and whose they are. */
interface Slots {
  most: number;
  /** User of each run that is under way. */
  users: readonly string[];
}

/** Of the slots of a process, a user takes three quarters at most: endless runs of one keep no other user waiting. */
const shareOf = (most: number): number => Math.ceil((most * 3) / 4);

/**
 * Takes runs whose time has come: queued ones, ones that waited, and ones whose process died; each for one process, and
 * of an installation at most as many at a time as its definition says.
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
    // Asked again only when others were passed over for a user whose share is used up since.
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
      // Written out, so that the partial index is seen to fit.
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

/** Undefined when another process was first, or its installation has as many as it may. */
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

/** Locks the installation: every process that takes a run of it waits here for the others, so that the count holds. */
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
