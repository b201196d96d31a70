import type { LRUCache } from 'lru-cache';
import { HOUR, type Clock } from './clock.ts';

/** The counts of one hour, whose start is `at` in epoch ms. */
export interface HourCounts {
  at: number;
}

/** Counts of the things of an owner by hour. */
export interface CountsByHour<T extends HourCounts> {
  /** Returns each hour from `from` (epoch ms) until now, oldest first. */
  since(owner: string, from: number): Promise<T[]>;
}

interface Options<T extends HourCounts> {
  clock: Clock;
  /** Counts of hours that are over, by owner and hour. */
  kept: LRUCache<string, T>;
  /** How long after its end an hour may still get records. */
  lateMs: number;
  /** Hours that one call of `count` counts. */
  atOnce: number;
  /** Returns the counts of successive hours, one for each. */
  count(owner: string, hours: readonly number[]): Promise<T[]>;
}

/** Creates counts by hour. Other requests run between two calls of `count`. */
export function createCountsByHour<T extends HourCounts>({
  clock,
  kept,
  lateMs,
  atOnce,
  count,
}: Options<T>): CountsByHour<T> {
  return {
    async since(owner, from) {
      const now = clock.now();
      const known = new Map<number, T>();
      const missing: number[] = [];
      for (let at = Math.floor(from / HOUR) * HOUR; at <= now; at += HOUR) {
        const hour = kept.get(`${owner} ${at}`);
        if (hour) known.set(at, hour);
        else missing.push(at);
      }
      for (let first = 0; first < missing.length; first += atOnce) {
        for (const hour of await count(owner, missing.slice(first, first + atOnce))) {
          known.set(hour.at, hour);
          if (hour.at + HOUR + lateMs <= now) kept.set(`${owner} ${hour.at}`, hour);
        }
        await new Promise((next) => setImmediate(next));
      }
      return [...known.values()].toSorted((a, b) => a.at - b.at);
    },
  };
}
