import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { HOUR, MINUTE } from '../lib/clock.ts';
import { createCountsByHour, type CountsByHour, type HourCounts } from '../lib/hour-counts.ts';
import { createExpiring } from '../lib/ttl-cache.ts';
import type { Tables } from '../store/schema.ts';

type Status = Tables['deliveries']['status'];

/** The deliveries of the events of one hour, by their present state. */
export type HourOfDeliveries = HourCounts & Record<Status, number>;

/** Counts of deliveries by hour, of an environment. */
export type DeliverySummaries = CountsByHour<HourOfDeliveries>;

/** Counts of an hour that is over are this old at most: a late attempt or a replay changes them. */
const KEPT_MS = MINUTE;
const MAX_HOURS = 2 * 24 * 31;

export function createDeliverySummaries({ db, clock }: Pick<Base, 'db' | 'clock'>): DeliverySummaries {
  return createCountsByHour<HourOfDeliveries>({
    clock,
    kept: createExpiring({ ttlMs: KEPT_MS, max: MAX_HOURS, clock }),
    lateMs: 0,
    // One hour of a busy environment has thousands of events.
    atOnce: 1,
    count: (environment, hours) => Promise.all(hours.map((at) => countHour(db, environment, at))),
  });
}

async function countHour(db: Base['db'], environment: string, at: number): Promise<HourOfDeliveries> {
  const { rows } = await sql<{ status: Status; deliveries: number | string }>`
    select deliveries.status, count(*) as deliveries
    from events join deliveries on deliveries.event_id = events.event_id
    where events.environment = ${environment} and events.created_at >= ${at} and events.created_at < ${at + HOUR}
    group by 1`.execute(db);
  const hour: HourOfDeliveries = { at, waiting: 0, succeeded: 0, dead: 0, cancelled: 0 };
  for (const { status, deliveries } of rows) hour[status] = Number(deliveries);
  return hour;
}
