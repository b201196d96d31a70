import { expect, test } from 'vitest';
import { createClockJumps } from '../../src/sources/clock-jumps.ts';
import { beginJobs, dueJobs, isRunning, planJob, type JobKind } from '../../src/runtime/jobs.ts';
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts';
import { createLog } from '../../src/log.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-database.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { manualClock } from '../support/clock.ts';
import { freshDatabase, STORE_KINDS, type StoreKind } from '../support/stores.ts';

/** Opens a store with jobs of one kind, `note`, that run when the test calls begin(). */
async function openNotes(kind: StoreKind) {
  const { database, remove } = await freshDatabase(kind);
  const store = await openStore(database);
  await migrate(store, 1);
  const clock = manualClock();
  const context = { db: store.db, clock, log: createLog('silent'), telemetry: createTelemetry() };
  const ran: string[] = [];
  const note: JobKind = {
    attempts: 3,
    run: async (payload) => void ran.push(String(payload)),
    gaveUp: async () => undefined,
  };
  return {
    context,
    clock,
    note,
    ran,
    plan: (key: string, delayMs: number) =>
      planJob(store.db, context, { kind: 'note', key, payload: key, delayMs }),
    /** Begins the jobs that are due. */
    async begin(job = note): Promise<Promise<void>[]> {
      const due = await dueJobs(store.db, clock.now(), ['note']).select('jobs.job_id').execute();
      const ids = due.map((row) => row.job_id);
      const begun = await beginJobs(
        context,
        { note: job },
        { jobIds: ids, signal: new AbortController().signal },
      );
      return begun.map(({ work }) => work);
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      await remove();
    },
  };
}

test.each(STORE_KINDS)('a job planned again while it runs or gives up keeps that plan (%s)', async (kind) => {
  await using notes = await openNotes(kind);
  const { clock, ran, plan, note } = notes;
  const look = async (job?: JobKind) => void (await Promise.all(await notes.begin(job)));
  const refused: JobKind = {
    ...note,
    attempts: 1,
    run: () => Promise.reject(new Error('refused')),
    gaveUp: async () => DAY,
  };

  await plan('one', 0);
  // The new plan is in the same millisecond as the old one.
  await look({ ...note, run: () => plan('one', MINUTE).then(() => undefined) });
  await look();
  expect(ran).toEqual([]);
  clock.advance(MINUTE);
  await look({ ...refused, gaveUp: () => plan('one', MINUTE).then(() => DAY) });
  clock.advance(MINUTE);
  await look();
  expect(ran).toEqual(['one']);

  await plan('one', 0);
  await look(refused);
  clock.advance(DAY - 1);
  await look();
  expect(ran).toEqual(['one']);
  clock.advance(1);
  await look();
  expect(ran).toEqual(['one', 'one']);
  clock.advance(30 * DAY);
  await look();
  expect(ran).toEqual(['one', 'one']);
});

test.each(STORE_KINDS)(
  'jobs planned or leased under a fast clock are due after it is corrected (%s)',
  async (kind) => {
    await using notes = await openNotes(kind);
    const { context, clock, ran, plan, note, begin } = notes;
    const died: JobKind = { ...note, run: () => new Promise(() => {}) };

    clock.advance(20 * DAY);
    await plan('begun', 0);
    expect(await begin(died)).toHaveLength(1);
    await plan('planned', HOUR);
    clock.advance(-20 * DAY);
    await plan('tomorrow', DAY);
    expect(await isRunning(context.db, context, { kind: 'note', key: 'begun' })).toBe(false);
    await createClockJumps()(context);
    await Promise.all(await begin());
    expect(ran.toSorted()).toEqual(['begun', 'planned']);
    clock.advance(DAY + MINUTE);
    await Promise.all(await begin());
    expect(ran).toContain('tomorrow');
  },
);
