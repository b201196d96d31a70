import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { DAY, HOUR, MINUTE } from '../lib/clock.ts';
import { updateInBatches } from '../store/batches.ts';
import { isPostgres } from '../store/kept.ts';
import type { Db } from '../store/schema.ts';

const LOOK_EVERY_MS = MINUTE;
/**
 * Longer than any wait of a webhook that arrived, and of a source that is polled, beyond twice its interval; then of those
 * polled once a day, and of jobs.
 */
const LONGEST_WAIT_MS = 1.5 * HOUR;
const LONGEST_DAILY_WAIT_MS = 1.5 * DAY;

/** When, by our clock, a store was last looked through. */
const lookedAt = new WeakMap<Db, number>();

/**
 * What waits longer than anything is ever put off was put off while our clock was ahead, and is due now. Looked for each
 * minute, and at once when the clock jumped.
 */
export async function makeDueAfterJump({ db, clock }: Pick<Context, 'db' | 'clock'>): Promise<void> {
  const now = clock.now();
  if (Math.abs(now - (lookedAt.get(db) ?? 0)) < LOOK_EVERY_MS) return;
  lookedAt.set(db, now);
  await makeSourcesDue(db, now);
  await makeJobsDue(db, now);
  await makeWebhooksDue(db, now);
}

async function makeSourcesDue(db: Db, now: number): Promise<void> {
  await updateInBatches((limit) =>
    db
      .updateTable('sources')
      .set({ next_poll_at: now })
      .where('source_id', 'in', (some) =>
        some
          .selectFrom('sources')
          .select('source_id')
          .where('status', '=', 'active')
          .where('next_poll_at', '>', now + LONGEST_WAIT_MS)
          .where(sql<number>`next_poll_at - interval_ms - interval_ms`, '>', now + LONGEST_WAIT_MS)
          .where((e) =>
            e.or([e('hook_state', '!=', 'registered'), e('next_poll_at', '>', now + LONGEST_DAILY_WAIT_MS)]),
          )
          .limit(limit),
      )
      .executeTakeFirst(),
  );
}

async function makeJobsDue(db: Db, now: number): Promise<void> {
  await updateInBatches((limit) =>
    db
      .updateTable('jobs')
      .set({ next_at: now })
      .where('job_id', 'in', (some) =>
        some
          .selectFrom('jobs')
          .select('job_id')
          .where('next_at', '>', now + LONGEST_DAILY_WAIT_MS)
          .limit(limit),
      )
      .executeTakeFirst(),
  );
}

/** Those that arrived meanwhile keep their order, and come from no time ahead: how long one is asked for goes by its age. */
async function makeWebhooksDue(db: Db, now: number): Promise<void> {
  const { last } = await db
    .selectFrom('inbox')
    .select((e) => e.fn.max<number | null>('next_at').as('last'))
    .where('processed_at', 'is', null)
    .where('next_at', '>', now + LONGEST_WAIT_MS)
    .executeTakeFirstOrThrow();
  if (last === null) return;
  const aheadMs = last - now;
  await updateInBatches((limit) =>
    db
      .updateTable('inbox')
      .set({
        next_at: now,
        received_at: sql<number>`case when received_at > ${now} then received_at - ${aheadMs} else received_at end`,
      })
      .where('inbox_id', 'in', (some) =>
        some
          .selectFrom('inbox')
          .select('inbox_id')
          .where('processed_at', 'is', null)
          .where('next_at', '>', now + LONGEST_WAIT_MS)
          .limit(limit)
          // What another process is writing is done by then, or is found a minute later.
          .$if(isPostgres(db), (query) => query.forUpdate().skipLocked()),
      )
      .executeTakeFirst(),
  );
}
