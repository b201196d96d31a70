/** A queue in which owners take turns: each take() serves the owner who was served longest ago. */
export interface Turns<T> {
  readonly size: number;
  /** Returns the number of waiting items of an owner. */
  sizeOf(owner: string): number;
  add(owner: string, item: T): void;
  /** Returns the next item; undefined when none waits. */
  take(): T | undefined;
}

export function createTurns<T>(): Turns<T> {
  /** Owners with waiting items, in the order of their turns. */
  const waiting = new Map<string, T[]>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    sizeOf: (owner) => waiting.get(owner)?.length ?? 0,
    add(owner, item) {
      size += 1;
      const items = waiting.get(owner);
      if (items) items.push(item);
      else waiting.set(owner, [item]);
    },
    take() {
      const [first] = waiting;
      if (!first) return undefined;
      const [owner, items] = first;
      const item = items.shift();
      waiting.delete(owner);
      if (items.length > 0) waiting.set(owner, items);
      size -= 1;
      return item;
    },
  };
}
