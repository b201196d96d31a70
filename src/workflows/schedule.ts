import { Cron } from 'croner';
import { z } from 'zod';
import type { Fault } from '../lib/errors.ts';

/** A schedule: five fields of cron in a time zone (default UTC). */
type Schedule = z.infer<typeof stored>;

/** Returns the first firing after `after` (both epoch ms), by croner; undefined when there is none. */
export function nextFiring({ cron, timeZone = 'UTC' }: Schedule, after: number): number | undefined {
  const job = new Cron(cron, { mode: '5-part', timezone: timeZone, paused: true });
  return job.nextRun(new Date(after))?.getTime();
}

const stored = z.object({ cron: z.string(), timeZone: z.string().optional() });

/**
 * Returns the next firing of a stored schedule (JSON) after `after`, epoch ms; null without a schedule or a further
 * firing.
 */
export function firingAfter(schedule: string | null, after: number): number | null {
  return schedule === null ? null : (nextFiring(stored.parse(JSON.parse(schedule)), after) ?? null);
}

export function scheduleFaults(schedule: Schedule, now: number): Fault[] {
  const zone = schedule.timeZone ?? 'UTC';
  try {
    Intl.DateTimeFormat('en', { timeZone: zone });
  } catch {
    return [{ field: 'trigger.timeZone', rule: `"${zone}" is no IANA time zone, such as Europe/Berlin` }];
  }
  try {
    if (nextFiring(schedule, now) !== undefined) return [];
    return [{ field: 'trigger.cron', rule: 'never fires' }];
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
    return [{ field: 'trigger.cron', rule: `is no cron pattern of five fields: ${reason.slice(0, 200)}` }];
  }
}

const DURATION = /^P(?:(\d{1,5})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,8})S)?)?$/;
const MAX_WAIT_SECONDS = 366 * 86_400;

/**
 * Returns the milliseconds of an ISO 8601 duration of weeks, days, hours, minutes and seconds; undefined when invalid
 * or over a year.
 */
export function durationMs(text: string): number | undefined {
  const match = DURATION.exec(text);
  if (!match || text.endsWith('P') || text.endsWith('T')) return undefined;
  const [weeks, days, hours, minutes, seconds] = match.slice(1).map((digits) => Number(digits ?? 0));
  const total =
    (weeks ?? 0) * 604_800 +
    (days ?? 0) * 86_400 +
    (hours ?? 0) * 3600 +
    (minutes ?? 0) * 60 +
    (seconds ?? 0);
  return total <= MAX_WAIT_SECONDS ? total * 1000 : undefined;
}
