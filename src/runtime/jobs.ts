import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { publicError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { parseJson, type Json } from '../lib/json.ts';
import { backoff, jitter } from './backoff.ts';
import { isUnleased, LEASE_MS, whileRenewing } from './lease.ts';
import { risingTo } from '../store/rising.ts';
import type { Db, DbOrTx } from '../store/schema.ts';

const RETRIES = { firstMs: 5 * SECOND, longestMs: 60 * MINUTE, factor: 4 };

/** The code of one kind of job. It may run again after a crash, so it must be idempotent. */
export interface JobKind {
  /**
   * Runs the job. It is done when the result is undefined; a number runs it again after that many milliseconds. A
   * rejection is retried until `attempts` were made.
   */
  run(payload: Json, signal: AbortSignal): Promise<number | undefined>;
  attempts: number;
  /** Called when the last attempt failed. A returned number starts the job again after that many milliseconds. */
  gaveUp(payload: Json, error: Error, signal: AbortSignal): Promise<number | undefined>;
}

/** Plans a job in the transaction that requires it. There is one live job for each kind and key. */
export async function planJob(
  db: DbOrTx,
  { clock }: Pick<Base, 'clock'>,
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
    // updated_at rises, so that a running job detects that it was planned again (recordRun).
    .onConflict((c) =>
      c.columns(['kind', 'key']).doUpdateSet({ ...row, updated_at: risingTo('jobs.updated_at', now) }),
    )
    .execute();
}

/** Deletes a job unless it is running; a running one ends on its own. */
export async function dropJob(
  db: DbOrTx,
  { clock }: Pick<Base, 'clock'>,
  { kind, key }: { kind: string; key: string },
): Promise<void> {
  await db
    .deleteFrom('jobs')
    .where('kind', '=', kind)
    .where('key', '=', key)
    .where(isUnleased('jobs', clock.now()))
    .execute();
}

/** Returns whether a process is running this job. */
export async function isRunning(
  db: DbOrTx,
  { clock }: Pick<Base, 'clock'>,
  { kind, key }: { kind: string; key: string },
): Promise<boolean> {
  const row = await db
    .selectFrom('jobs')
    .select('job_id')
    .where('kind', '=', kind)
    .where('key', '=', key)
    .where((e) => e.not(isUnleased('jobs', clock.now())))
    .executeTakeFirst();
  return row !== undefined;
}

/** Returns the jobs of the given kinds that are due and not running, longest due first. */
export function dueJobs(db: Db, now: number, kinds: string[]) {
  return db
    .selectFrom('jobs')
    .where('jobs.kind', 'in', kinds)
    .where('jobs.next_at', '<=', now)
    .where(isUnleased('jobs', now))
    .orderBy('jobs.next_at');
}

/** Leases due jobs for this process and starts them. Returns the started ones. */
export async function beginJobs(
  context: JobContext,
  kinds: { readonly [kind: string]: JobKind },
  { jobIds, signal }: { jobIds: string[]; signal: AbortSignal },
): Promise<{ jobId: string; work: Promise<void> }[]> {
  const jobs = await claim(context, jobIds);
  return jobs.flatMap((job) => {
    const kind = kinds[job.kind];
    return kind ? [{ jobId: job.job_id, work: run(context, { kind, job, signal }) }] : [];
  });
}

/** A job under way in this process. */
interface Run {
  kind: JobKind;
  job: Job;
  signal: AbortSignal;
}

async function run(context: JobContext, attempt: Run): Promise<void> {
  const { kind, job, signal } = attempt;
  const renewal = {
    renew: () => renew(context, job),
    onError: (error: unknown) =>
      context.log.error({ err: error, jobId: job.job_id }, 'job lease not renewed'),
  };
  await whileRenewing(renewal, async () => {
    try {
      await recordRun(context, job, { againInMs: await kind.run(parseJson(job.payload), signal) });
      context.telemetry.jobs.count(job.kind, 'succeeded');
    } catch (error) {
      context.telemetry.jobs.count(job.kind, signal.aborted ? 'interrupted' : 'failed');
      // A job that the stop of this process interrupted runs again in another process, or at the next start.
      if (signal.aborted) await interrupted(context, job);
      else await onFailed(context, attempt, error);
    }
  });
}

function interrupted(context: JobContext, job: Job): Promise<void> {
  return recordRun(context, job, { againInMs: 0, error: 'interrupted' });
}

type JobContext = Pick<Base, 'db' | 'clock' | 'log' | 'telemetry'>;

interface Job {
  job_id: string;
  kind: string;
  payload: string;
  attempts: number;
  lease_token: string | null;
  updated_at: number;
}

async function claim({ db, clock }: JobContext, jobIds: string[]): Promise<Job[]> {
  // An UPDATE takes SQLite's only write lock even when it matches no row.
  if (jobIds.length === 0) return [];
  const now = clock.now();
  return db
    .updateTable('jobs')
    .set({ lease_token: randomUUID(), lease_until: now + LEASE_MS, attempts: sql`attempts + 1` })
    .where('job_id', 'in', jobIds)
    .where('next_at', '<=', now)
    .where(isUnleased('jobs', now))
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

async function onFailed(context: JobContext, { kind, job, signal }: Run, thrown: unknown): Promise<void> {
  const error = publicError(thrown);
  const facts = error.code === 'internal' ? { err: thrown } : { code: error.code };
  context.log.warn({ jobId: job.job_id, kind: job.kind, attempts: job.attempts, ...facts }, 'job failed');
  if (job.attempts >= kind.attempts) {
    let againInMs: number | undefined;
    try {
      againInMs = await kind.gaveUp(parseJson(job.payload), error, signal);
    } catch (refused) {
      if (!signal.aborted) throw refused;
      return interrupted(context, job);
    }
    await recordRun(context, job, { againInMs });
    return;
  }
  const againInMs = jitter(backoff(job.attempts, RETRIES), 0.2);
  await recordRun(context, job, { againInMs, error: error.message });
}

/** Ends a job or plans its next run. A job that was planned again while it ran keeps that plan. */
async function recordRun(
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
