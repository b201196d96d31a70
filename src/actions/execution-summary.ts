import { LRUCache } from 'lru-cache';
import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { HOUR, MINUTE } from '../lib/clock.ts';
import { createCountsByHour, type CountsByHour, type HourCounts } from '../lib/hour-counts.ts';

/** The calls of one hour. Durations are those of the calls that reached an app. */
export interface HourOfCalls extends HourCounts {
  succeeded: number;
  failed: number;
  denied: number;
  /** Number of calls by duration: each number counts those below a step of STEPS_MS, the last one the others. */
  durations: number[];
}

/** Counts of executions by hour, of an environment. */
export type ExecutionSummaries = CountsByHour<HourOfCalls>;

/** Upper ends of the steps in which durations are counted, ms. */
const STEPS_MS = [5, 10, 20, 35, 50, 75, 100, 150, 200, 350, 500, 750, 1000, 2000, 5000, 10_000, 30_000];
/** Time after the end of an hour in which its rows may still be written. Later its counts are cached. */
const SETTLED_MS = 2 * MINUTE;
const MAX_HOURS = 2 * 24 * 31;
/** Hours that one query counts, so that other requests run in between. */
const HOURS_AT_ONCE = 6;

export function createExecutionSummaries({ db, clock }: Pick<Base, 'db' | 'clock'>): ExecutionSummaries {
  return createCountsByHour<HourOfCalls>({
    clock,
    kept: new LRUCache({ max: MAX_HOURS }),
    lateMs: SETTLED_MS,
    atOnce: HOURS_AT_ONCE,
    async count(environment, hours) {
      const counted = new Map(hours.map((at) => [at, emptyHour(at)]));
      for (const { hour, calls, ...row } of await countHours(db, environment, hours)) {
        const found = counted.get(Number(hour) * HOUR);
        if (!found) continue;
        found[row.outcome] = Number(calls);
        if (row.outcome === 'denied') continue;
        const below = STEPS_MS.map((_, step) => Number(row[`step${step}`] ?? 0));
        for (const [step, upTo] of [...below, Number(calls)].entries())
          found.durations[step] = (found.durations[step] ?? 0) + upTo - (below[step - 1] ?? 0);
      }
      return [...counted.values()];
    },
  });
}

/**
 * Returns the duration below which this part of the calls stayed, in ms, such as 0.95 of them; null without calls. It is
 * estimated within a step of STEPS_MS.
 */
export function durationBelow(durations: readonly number[], part: number): number | null {
  const all = durations.reduce((sum, calls) => sum + calls, 0);
  if (all === 0) return null;
  let left = all * part;
  for (const [step, calls] of durations.entries()) {
    if (left <= calls) {
      const low = STEPS_MS[step - 1] ?? 0;
      const high = STEPS_MS[step] ?? low * 2;
      return Math.round(low + (high - low) * (calls === 0 ? 1 : left / calls));
    }
    left -= calls;
  }
  return STEPS_MS.at(-1) ?? null;
}

function emptyHour(at: number): HourOfCalls {
  return { at, succeeded: 0, failed: 0, denied: 0, durations: Array(STEPS_MS.length + 1).fill(0) };
}

type CountRow = Record<`step${number}`, number | string> & {
  hour: number | string;
  outcome: 'succeeded' | 'failed' | 'denied';
  calls: number | string;
};

async function countHours(
  db: Base['db'],
  environment: string,
  hours: readonly number[],
): Promise<CountRow[]> {
  const steps = STEPS_MS.map(
    (ms, step) =>
      sql`sum(case when duration_ms < ${sql.lit(ms)} then 1 else 0 end) as ${sql.id(`step${step}`)}`,
  );
  const { rows } = await sql<CountRow>`
    select at / ${sql.lit(HOUR)} as hour, outcome, count(*) as calls, ${sql.join(steps)}
    from executions
    where environment = ${environment} and at >= ${Math.min(...hours)} and at < ${Math.max(...hours) + HOUR}
    group by 1, 2`.execute(db);
  return rows;
}
