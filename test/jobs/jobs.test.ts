import { expect, test } from 'vitest';
import { beginJobs, dueJobs, planJob, type JobKind } from '../../src/jobs/jobs.ts';
import { DAY, MINUTE } from '../../src/lib/clock.ts';
import { createLog } from '../../src/log.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open.ts';
import { manualClock } from '../support/clock.ts';
import { freshDatabase, STORE_KINDS } from '../support/stores.ts';

test.each(STORE_KINDS)(
  'a job that is planned anew as it runs or gives up keeps that plan (%s)',
  async (kind) => {
    const { database, remove } = await freshDatabase(kind);
    await using store = await openStore(database);
    await migrate(store, 1);
    const clock = manualClock();
    const context = { db: store.db, clock, log: createLog('silent') };
    const planned = (delayMs: number) =>
      planJob(store.db, context, { kind: 'note', key: 'one', payload: null, delayMs });
    const ran: string[] = [];
    const look = async (job: JobKind) => {
      const due = await dueJobs(store.db, clock.now(), ['note']).select('jobs.job_id').execute();
      const ids = due.map((row) => row.job_id);
      const begun = await beginJobs(context, { note: job }, ids, new AbortController().signal);
      await Promise.all(begun.map(({ work }) => work));
    };
    const job: JobKind = {
      attempts: 1,
      run: async () => void ran.push('run'),
      gaveUp: async () => void ran.push('given up'),
    };

    await planned(0);
    // In the very millisecond of the plan before.
    await look({ ...job, run: () => planned(MINUTE).then(() => undefined) });
    await look(job);
    expect(ran).toEqual([]);
    clock.advance(MINUTE);
    await look({
      ...job,
      run: () => Promise.reject(new Error('refused')),
      gaveUp: () => planned(MINUTE).then(() => DAY),
    });
    clock.advance(MINUTE);
    await look(job);
    expect(ran).toEqual(['run']);

    await planned(0);
    await look({ ...job, run: () => Promise.reject(new Error('refused')), gaveUp: async () => DAY });
    clock.advance(DAY - 1);
    await look(job);
    expect(ran).toEqual(['run']);
    clock.advance(1);
    await look(job);
    expect(ran).toEqual(['run', 'run']);
    clock.advance(30 * DAY);
    await look(job);
    expect(ran).toEqual(['run', 'run']);
    await remove();
  },
);
