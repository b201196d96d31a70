import { HOUR } from './clock.ts';

/** The counts of one hour, whose start is `at` in epoch ms. */
export interface HourCounts {
  at: number;
}

/**
 * Returns the counts of each hour from `from` until `now` (epoch ms), oldest first. Hours that `kept` does not have are
 * counted, `atOnce` at a time, and other requests run in between.
 */
export async function countByHour<T extends HourCounts>({
  from,
  now,
  atOnce,
  kept,
  count,
}: {
  from: number;
  now: number;
  atOnce: number;
  kept: (at: number) => T | undefined;
  /** Returns the counts of these hours, one for each. */
  count: (hours: readonly number[]) => Promise<Iterable<T>>;
}): Promise<T[]> {
  const known = new Map<number, T>();
  const missing: number[] = [];
  for (let at = Math.floor(from / HOUR) * HOUR; at <= now; at += HOUR) {
    const hour = kept(at);
    if (hour) known.set(at, hour);
    else missing.push(at);
  }
  for (let first = 0; first < missing.length; first += atOnce) {
    for (const hour of await count(missing.slice(first, first + atOnce))) known.set(hour.at, hour);
    await new Promise((next) => setImmediate(next));
  }
  return [...known.values()].toSorted((a, b) => a.at - b.at);
}
