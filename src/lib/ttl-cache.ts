import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';

/** A bounded map whose entries expire. */
export interface TtlCache<V> {
  /** Returns the cached value, or loads and caches it. Concurrent loads of one key are one load. */
  get(key: string, load: () => Promise<V>): Promise<V>;
  delete(key: string): void;
  clear(): void;
}

/** Age limit, size limit and clock of a cache. */
interface Bounds {
  ttlMs: number;
  max: number;
  clock: Clock;
}

/**
 * Creates a cache. `ttlMs` bounds how stale an answer can be. At `max` entries the oldest is removed. A failed load is
 * not cached, and a load that began before delete() or clear() is not cached afterwards.
 */
export function createTtlCache<V>(bounds: Bounds): TtlCache<V> {
  const cached = createExpiring<Promise<V>>(bounds);
  return {
    get(key, load) {
      const found = cached.get(key);
      if (found) return found;
      const value = load();
      value.catch(() => {
        if (cached.peek(key) === value) cached.delete(key);
      });
      cached.set(key, value);
      return value;
    },
    delete: (key) => void cached.delete(key),
    clear: () => cached.clear(),
  };
}

/** Creates a map whose entries are absent from `ttlMs` on. It allocates no room in advance, unlike `max` does. */
export function createExpiring<V extends {}>({ ttlMs, max, clock }: Bounds): LRUCache<string, V> {
  return new LRUCache({
    maxSize: max,
    sizeCalculation: () => 1,
    // LRUCache returns an entry that is exactly as old as its limit.
    ttl: ttlMs - 1,
    ttlResolution: 0,
    perf: clock,
  });
}
