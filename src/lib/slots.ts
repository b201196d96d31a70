/** Values by number while they are in use, such as the requests under way. */
export interface Slots<V extends {}> {
  /** Stores a value. Returns its number, which is free again after remove(). */
  add(value: V): number;
  get(slot: number): V | undefined;
  remove(slot: number): void;
}

/**
 * Creates slots. A Map whose entries come and go with each request keeps deleted ones in memory: V8 replaces its table again
 * and again, and each old table refers to the next. Once one of them is old, all later ones stay until a major garbage
 * collection.
 */
export function createSlots<V extends {}>(): Slots<V> {
  const values: (V | undefined)[] = [];
  const free: number[] = [];
  return {
    add(value) {
      const slot = free.pop() ?? values.length;
      values[slot] = value;
      return slot;
    },
    get: (slot) => values[slot],
    remove(slot) {
      if (values[slot] === undefined) return;
      values[slot] = undefined;
      free.push(slot);
    },
  };
}
