import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { DAY, HOUR, MINUTE } from '../lib/clock.ts';
import { updateInBatches } from '../store/batches.ts';
import type { Db } from '../store/schema.ts';

const LOOK_EVERY_MS = MINUTE;
/** Longer than any wait of a source that is polled, beyond twice its interval; then of those polled once a day, and of jobs. */
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
