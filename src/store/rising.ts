import { sql, type RawBuilder } from 'kysely';

/** The time now (epoch milliseconds), or one more than a column holds: whoever saw it before knows that it is another. */
export function risingTo(column: string, now: number): RawBuilder<number> {
  const held = sql.ref<number>(column);
  return sql<number>`case when ${held} < ${now} then ${now} else ${held} + 1 end`;
}
