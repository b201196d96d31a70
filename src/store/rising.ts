import { sql, type RawBuilder } from 'kysely';

/**
 * Returns the time now (epoch ms), or one more than the column holds. So a reader of the old value always sees that it
 * changed.
 */
export function risingTo(column: string, now: number): RawBuilder<number> {
  const held = sql.ref<number>(column);
  return sql<number>`case when ${held} < ${now} then ${now} else ${held} + 1 end`;
}
