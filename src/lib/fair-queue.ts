/** A queue in which owners take turns: take() serves the owner who was served longest ago. */
export interface FairQueue<T> {
  readonly size: number;
  /** Returns the number of waiting items of an owner. */
  sizeOf(owner: string): number;
  add(owner: string, item: T): void;
  /** Returns the next item that may be served, or undefined. Owners whose first item may not be served keep their places. */
  take(mayServe?: (first: T) => boolean): T | undefined;
  /** Returns whether the item waited. */
  remove(owner: string, item: T): boolean;
}

export function createFairQueue<T extends {}>(): FairQueue<T> {
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
    take(mayServe = () => true) {
      for (const [owner, items] of waiting) {
        const [item] = items;
        if (item === undefined || !mayServe(item)) continue;
        items.shift();
        waiting.delete(owner);
        if (items.length > 0) waiting.set(owner, items);
        size -= 1;
        return item;
      }
      return undefined;
    },
    remove(owner, item) {
      const items = waiting.get(owner) ?? [];
      const at = items.indexOf(item);
      if (at === -1) return false;
      items.splice(at, 1);
      if (items.length === 0) waiting.delete(owner);
      size -= 1;
      return true;
    },
  };
}
