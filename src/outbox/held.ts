import type { Capacity } from './capacity.ts';
import type { Item } from './claim-deliveries.ts';

/** Deliveries in this process, from the claim until their outcome is stored. Their bodies count against the capacity. */
export class Held extends Set<Item> {
  readonly #capacity: Capacity;

  constructor(capacity: Capacity) {
    super();
    this.#capacity = capacity;
  }

  override add(item: Item): this {
    if (!this.has(item)) this.#capacity.take(item.usage, 'chars', item.body.length);
    return super.add(item);
  }

  override delete(item: Item): boolean {
    const wasHeld = super.delete(item);
    if (wasHeld) this.#capacity.release(item.usage, 'chars', item.body.length);
    return wasHeld;
  }
}
