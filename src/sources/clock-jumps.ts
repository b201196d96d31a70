import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { DAY, HOUR, MINUTE } from '../lib/clock.ts';
import { inBatches } from '../store/batches.ts';
import { isPostgres } from '../store/prepared.ts';
import type { Db } from '../store/schema.ts';

const LOOK_EVERY_MS = MINUTE;
/**
 * Limits beyond which a due time must come from a clock that was ahead. The first is longer than any wait of
 * a stored webhook, and of a polled source beyond twice its interval. The second is for sources that are
 * polled daily, and for jobs.
 */
const LONGEST_WAIT_MS = 1.5 * HOUR;
const LONGEST_DAILY_WAIT_MS = 1.5 * DAY;

/**
 * Creates the check for work whose due time was set while our clock was ahead. It makes due all work whose due time is
 * further ahead than any wait, once a minute, and at once after a clock jump.
 */
export function createClockJumps() {
  let lookedAt = 0;
  return async ({ db, clock }: Pick<Base, 'db' | 'clock'>): Promise<void> => {
    const now = clock.now();
    if (Math.abs(now - lookedAt) < LOOK_EVERY_MS) return;
    lookedAt = now;
    await makeSourcesDue(db, now);
    await makeJobsDue(db, now);
    await makeWebhooksDue(db, now);
  };
}

async function makeSourcesDue(db: Db, now: number): Promise<void> {
  await inBatches((limit) =>
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
  await inBatches((limit) =>
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

/**
 * Makes webhooks due. The arrival times of webhooks that arrived while the clock was ahead are set back. They
 * keep their order, and the age of a webhook decides how long its record is asked for.
 */
async function makeWebhooksDue(db: Db, now: number): Promise<void> {
  const { last } = await db
    .selectFrom('inbox')
    .select((e) => e.fn.max<number | null>('next_at').as('last'))
    .where('processed_at', 'is', null)
    .where('next_at', '>', now + LONGEST_WAIT_MS)
    .executeTakeFirstOrThrow();
  if (last === null) return;
  const aheadMs = last - now;
  await inBatches((limit) =>
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
          // A row that another process locks is soon done, or the check a minute later finds it.
          .$if(isPostgres(db), (query) => query.forUpdate().skipLocked()),
      )
      .executeTakeFirst(),
  );
}
