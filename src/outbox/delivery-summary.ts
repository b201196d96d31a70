import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { HOUR, MINUTE } from '../lib/clock.ts';
import { countByHour, type HourCounts } from '../lib/hour-counts.ts';
import { createExpiring } from '../lib/ttl-cache.ts';
import type { Environment } from '../store/environments.ts';
import type { Tables } from '../store/schema.ts';

type Status = Tables['deliveries']['status'];

/** The deliveries of the events of one hour, by their present state. */
export type HourOfDeliveries = HourCounts & Record<Status, number>;

/** Counts of deliveries by hour. */
export interface DeliverySummaries {
  /** Returns each hour from `from` (epoch ms) until now, oldest first. */
  since(environment: Environment, from: number): Promise<HourOfDeliveries[]>;
}

/** Counts of an hour that is over are this old at most: a late attempt or a replay changes them. */
const KEPT_MS = MINUTE;
const MAX_HOURS = 2 * 24 * 31;

export function createDeliverySummaries({ db, clock }: Pick<Base, 'db' | 'clock'>): DeliverySummaries {
  const recent = createExpiring<HourOfDeliveries>({ ttlMs: KEPT_MS, max: MAX_HOURS, clock });
  return {
    async since(environment, from) {
      const now = clock.now();
      return countByHour({
        from,
        now,
        // One hour of a busy environment has thousands of events.
        atOnce: 1,
        kept: (at) => recent.get(`${environment} ${at}`),
        async count(hours) {
          const counted: HourOfDeliveries[] = [];
          for (const at of hours) {
            const hour = await countHour(db, environment, at);
            if (at + HOUR <= now) recent.set(`${environment} ${at}`, hour);
            counted.push(hour);
          }
          return counted;
        },
      });
    },
  };
}

async function countHour(db: Base['db'], environment: Environment, at: number): Promise<HourOfDeliveries> {
  const { rows } = await sql<{ status: Status; deliveries: number | string }>`
    select deliveries.status, count(*) as deliveries
    from events join deliveries on deliveries.event_id = events.event_id
    where events.environment = ${environment} and events.created_at >= ${at} and events.created_at < ${at + HOUR}
    group by 1`.execute(db);
  const hour: HourOfDeliveries = { at, waiting: 0, succeeded: 0, dead: 0, cancelled: 0 };
  for (const { status, deliveries } of rows) hour[status] = Number(deliveries);
  return hour;
}
