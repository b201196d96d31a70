import type { Clock } from './clock.ts';

/** A bounded map whose entries expire. */
export interface TtlCache<V> {
  /** Returns the cached value, or loads and caches it. Concurrent loads of one key are one load. */
  get(key: string, load: () => Promise<V>): Promise<V>;
  delete(key: string): void;
  clear(): void;
}

/**
 * Creates a cache. `ttlMs` bounds how stale an answer can be. At `max` entries the oldest is removed. A failed load is
 * not cached, and a load that began before delete() or clear() is not cached afterwards.
 */
export function createTtlCache<V>(options: { ttlMs: number; max: number; clock: Clock }): TtlCache<V> {
  const { ttlMs, max, clock } = options;
  const kept = new Map<string, { value: Promise<V>; until: number }>();
  return {
    get(key, load) {
      const found = kept.get(key);
      const now = clock.now();
      if (found && found.until > now) return found.value;
      kept.delete(key);
      const entry = { value: load(), until: now + ttlMs };
      entry.value.catch(() => {
        if (kept.get(key) === entry) kept.delete(key);
      });
      if (kept.size >= max) kept.delete(kept.keys().next().value ?? '');
      kept.set(key, entry);
      return entry.value;
    },
    delete: (key) => void kept.delete(key),
    clear: () => kept.clear(),
  };
}
