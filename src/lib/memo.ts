import { LRUCache } from 'lru-cache';

/**
 * Returns a function that computes a value once for each text. The `max` values that were used last stay cached. A
 * promise that rejects does not stay.
 */
export function memoByText<T extends {}>(max: number, compute: (text: string) => T): (text: string) => T {
  const cached = new LRUCache<string, T>({ max });
  return (text) => {
    const known = cached.get(text);
    if (known !== undefined) return known;
    const value = compute(text);
    cached.set(text, value);
    if (value instanceof Promise) value.catch(() => cached.delete(text));
    return value;
  };
}

/** Returns a function that computes a value once for each object. The object must not change. */
export function memoByObject<K extends WeakKey, T extends {}>(compute: (key: K) => T): (key: K) => T {
  const cached = new WeakMap<K, T>();
  return (key) => {
    let value = cached.get(key);
    if (value === undefined) cached.set(key, (value = compute(key)));
    return value;
  };
}

/** Returns a function that computes a value at its first call. */
export function once<T>(compute: () => T): () => T {
  let computed: { value: T } | undefined;
  return () => (computed ??= { value: compute() }).value;
}

/** Returns a function that loads a value at its first call. A load that rejects is repeated at the next call. */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}
