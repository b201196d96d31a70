import { expect, test } from 'vitest';
import { makeDueAfterJump } from '../../src/events/jumps.ts';
import { beginJobs, dueJobs, isRunning, planJob, type JobKind } from '../../src/jobs/jobs.ts';
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts';
import { createLog } from '../../src/log.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open.ts';
import { manualClock } from '../support/clock.ts';
import { freshDatabase, STORE_KINDS } from '../support/stores.ts';

test.each(STORE_KINDS)(
  'jobs that were planned or begun while our clock was ahead are due when it is back; others keep their time (%s)',
  async (kind) => {
    const { database, remove } = await freshDatabase(kind);
    await using store = await openStore(database);
    await migrate(store, 1);
    const clock = manualClock();
    const context = { db: store.db, clock, log: createLog('silent') };
    const ran: string[] = [];
    const note: JobKind = {
      attempts: 3,
      run: async (payload) => void ran.push(String(payload)),
      gaveUp: async () => {},
    };
    const died: JobKind = { ...note, run: () => new Promise(() => {}) };
    const begin = async (job: JobKind) => {
      const due = await dueJobs(store.db, clock.now(), ['note']).select('jobs.job_id').execute();
      const ids = due.map((row) => row.job_id);
      const begun = await beginJobs(context, { note: job }, ids, new AbortController().signal);
      return begun.map(({ work }) => work);
    };
    const plan = (key: string, delayMs: number) =>
      planJob(store.db, context, { kind: 'note', key, payload: key, delayMs });

    clock.advance(20 * DAY);
    await plan('begun', 0);
    expect(await begin(died)).toHaveLength(1);
    await plan('planned', HOUR);
    clock.advance(-20 * DAY);
    await plan('tomorrow', DAY);
    expect(await isRunning(store.db, context, { kind: 'note', key: 'begun' })).toBe(false);
    await makeDueAfterJump(context);
    await Promise.all(await begin(note));
    expect(ran.toSorted()).toEqual(['begun', 'planned']);
    clock.advance(DAY + MINUTE);
    await Promise.all(await begin(note));
    expect(ran).toContain('tomorrow');
    await remove();
  },
);
