import { randomUUID } from 'node:crypto';
import { sql, type ExpressionBuilder } from 'kysely';
import type { Context } from '../context.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { publicError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { parseJson, type Json } from '../lib/json.ts';
import { keepRenewing, latestLeaseEnd, LEASE_MS } from '../lib/lease.ts';
import { risingTo } from '../store/rising.ts';
import type { Db, DbOrTx, Tables } from '../store/schema.ts';

const FIRST_RETRY_MS = 5 * SECOND;
const LONGEST_RETRY_MS = 60 * MINUTE;

/** What runs a kind of job. It may run again after a crash, so it must do no harm twice. */
export interface JobKind {
  /** Done when it resolves, or to be run again after as many milliseconds as it says. Tried again when it rejects,
   *  until `attempts` were made. */
  run(payload: Json, signal: AbortSignal): Promise<number | undefined>;
  attempts: number;
  /** Called when the last attempt failed. Answers as `run` does: after how many milliseconds it begins from the start. */
  gaveUp(payload: Json, error: Error, signal: AbortSignal): Promise<number | undefined>;
}

/** Plans a job in the transaction that makes it necessary; there is one live job of a kind for each key. */
export async function planJob(
  db: DbOrTx,
  { clock }: Pick<Context, 'clock'>,
  job: { kind: string; key: string; payload: Json; delayMs?: number },
): Promise<void> {
  const now = clock.now();
  const row = {
    payload: JSON.stringify(job.payload),
    attempts: 0,
    next_at: now + (job.delayMs ?? 0),
    error: null,
    updated_at: now,
  };
  await db
    .insertInto('jobs')
    .values({ job_id: newId('job'), kind: job.kind, key: job.key, ...row, created_at: now })
    // By it who runs a job sees that it was planned anew (settle).
    .onConflict((c) =>
      c.columns(['kind', 'key']).doUpdateSet({ ...row, updated_at: risingTo('jobs.updated_at', now) }),
    )
    .execute();
}

/** Drops a job unless it is running; one that runs ends by itself. */
export async function dropJob(
  db: DbOrTx,
  { clock }: Pick<Context, 'clock'>,
  { kind, key }: { kind: string; key: string },
): Promise<void> {
  await db
    .deleteFrom('jobs')
    .where('kind', '=', kind)
    .where('key', '=', key)
    .where((e) => isFree(e, clock.now()))
    .execute();
}

/** Whether some process runs this job now. */
export async function isRunning(
  db: DbOrTx,
  { clock }: Pick<Context, 'clock'>,
  { kind, key }: { kind: string; key: string },
): Promise<boolean> {
  const row = await db
    .selectFrom('jobs')
    .select('job_id')
    .where('kind', '=', kind)
    .where('key', '=', key)
    .where((e) => e.not(isFree(e, clock.now())))
    .executeTakeFirst();
  return row !== undefined;
}

/** Jobs of some kinds whose time has come and that nobody runs, longest due first. */
export function dueJobs(db: Db, now: number, kinds: string[]) {
  return db
    .selectFrom('jobs')
    .where('jobs.kind', 'in', kinds)
    .where('jobs.next_at', '<=', now)
    .where((e) => isFree(e, now))
    .orderBy('jobs.next_at');
}

/** Nobody runs it; a lease further ahead than any is of a time when somebody's clock was. */
function isFree(e: ExpressionBuilder<Tables, 'jobs'>, now: number) {
  return e.or([
    e('jobs.lease_until', 'is', null),
    e('jobs.lease_until', '<', now),
    e('jobs.lease_until', '>', latestLeaseEnd(now)),
  ]);
}

/** Takes jobs that are due, each for this process alone, and begins them. Answers with those under way. */
export async function beginJobs(
  context: JobContext,
  kinds: { readonly [kind: string]: JobKind },
  jobIds: string[],
  signal: AbortSignal,
): Promise<{ jobId: string; work: Promise<void> }[]> {
  const jobs = await claim(context, jobIds);
  return jobs.flatMap((job) => {
    const kind = kinds[job.kind];
    return kind ? [{ jobId: job.job_id, work: run(context, kind, job, signal) }] : [];
  });
}

async function run(context: JobContext, kind: JobKind, job: Job, signal: AbortSignal): Promise<void> {
  const endRenewal = keepRenewing(
    () => renew(context, job),
    (error) => context.log.error({ err: error, jobId: job.job_id }, 'the lease of a job was not renewed'),
  );
  try {
    await settle(context, job, { againInMs: await kind.run(parseJson(job.payload), signal) });
  } catch (error) {
    // One that the end of the process cut short begins again elsewhere, or at the next start.
    if (signal.aborted) await cutShort(context, job);
    else await failed(context, kind, job, error, signal);
  } finally {
    endRenewal();
  }
}

function cutShort(context: JobContext, job: Job): Promise<void> {
  return settle(context, job, { againInMs: 0, error: 'cut short' });
}

type JobContext = Pick<Context, 'db' | 'clock' | 'log'>;

interface Job {
  job_id: string;
  kind: string;
  payload: string;
  attempts: number;
  lease_token: string | null;
  updated_at: number;
}

async function claim({ db, clock }: JobContext, jobIds: string[]): Promise<Job[]> {
  // An update takes the one writer of SQLite even when it finds nothing.
  if (jobIds.length === 0) return [];
  const now = clock.now();
  return db
    .updateTable('jobs')
    .set({ lease_token: randomUUID(), lease_until: now + LEASE_MS, attempts: sql`attempts + 1` })
    .where('job_id', 'in', jobIds)
    .where('next_at', '<=', now)
    .where((e) => isFree(e, now))
    .returning(['job_id', 'kind', 'payload', 'attempts', 'lease_token', 'updated_at'])
    .execute();
}

async function renew({ db, clock }: JobContext, job: Job): Promise<void> {
  await db
    .updateTable('jobs')
    .set({ lease_until: clock.now() + LEASE_MS })
    .where('job_id', '=', job.job_id)
    .where('lease_token', '=', job.lease_token)
    .execute();
}

async function failed(
  context: JobContext,
  kind: JobKind,
  job: Job,
  thrown: unknown,
  signal: AbortSignal,
): Promise<void> {
  const error = publicError(thrown);
  const facts = error.code === 'internal' ? { err: thrown } : { code: error.code };
  context.log.warn({ jobId: job.job_id, kind: job.kind, attempts: job.attempts, ...facts }, 'job failed');
  if (job.attempts >= kind.attempts) {
    let againInMs: number | undefined;
    try {
      againInMs = await kind.gaveUp(parseJson(job.payload), error, signal);
    } catch (refused) {
      if (!signal.aborted) throw refused;
      return cutShort(context, job);
    }
    await settle(context, job, { againInMs });
    return;
  }
  const waitMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 4 ** Math.min(job.attempts - 1, 8));
  const againInMs = Math.round(waitMs * (0.8 + Math.random() * 0.4));
  await settle(context, job, { againInMs, error: error.message });
}

/** Ends a job, or plans its next run. One that was planned anew while it ran keeps that plan. */
async function settle(
  { db, clock }: JobContext,
  job: Job,
  { againInMs, error }: { againInMs?: number | undefined; error?: string },
): Promise<void> {
  if (againInMs === undefined) {
    const { numDeletedRows } = await db
      .deleteFrom('jobs')
      .where('job_id', '=', job.job_id)
      .where('lease_token', '=', job.lease_token)
      .where('updated_at', '=', job.updated_at)
      .executeTakeFirst();
    if (numDeletedRows > 0n) return;
  } else {
    const { numUpdatedRows } = await db
      .updateTable('jobs')
      .set({
        next_at: clock.now() + againInMs,
        error: error?.slice(0, 500) ?? null,
        ...(error === undefined ? { attempts: 0 } : {}),
        lease_token: null,
        lease_until: null,
      })
      .where('job_id', '=', job.job_id)
      .where('lease_token', '=', job.lease_token)
      .where('updated_at', '=', job.updated_at)
      .executeTakeFirst();
    if (numUpdatedRows > 0n) return;
  }
  await db
    .updateTable('jobs')
    .set({ lease_token: null, lease_until: null })
    .where('job_id', '=', job.job_id)
    .where('lease_token', '=', job.lease_token)
    .execute();
}
