import type { Clock } from './clock.ts';

/** A bounded map whose entries are forgotten after a while. */
export interface TtlCache<V> {
  /** The kept value, or what `load` gives, kept from then on. Concurrent loads of one key are one load. */
  get(key: string, load: () => Promise<V>): Promise<V>;
  delete(key: string): void;
  clear(): void;
}

/**
 * `ttlMs` bounds how stale an answer can be. At `max` entries the oldest goes. A load that fails is not kept, and
 * one that began before delete() or clear() does not come back afterwards.
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
