import { Crowd } from '../lib/crowd.ts';
import type { Item } from './claim.ts';

/** Capacity of this process that the deliveries of one user hold. */
export interface Share {
  /** Running attempts of healthy queues. */
  fast: number;
  /** Running attempts of degraded queues, and attempts that hang. */
  slow: number;
  /** Deliveries that wait in queues. */
  queued: number;
  /** Characters of the bodies in memory. */
  chars: number;
}

const MOST: Readonly<Share> = { fast: 2000, slow: 2000, queued: 10_000, chars: 128 * 1024 * 1024 };

/**
 * Capacity shared by all users. A user may hold at most as much as is still free, so one user can use half, two users a
 * third each. Hanging addresses or large records of one user therefore cannot block the others.
 */
export class Room {
  readonly #taken = emptyShare();
  readonly #shares = new Map<string, Share>();

  shareOf(owner: string): Share {
    let share = this.#shares.get(owner);
    if (!share) this.#shares.set(owner, (share = emptyShare()));
    return share;
  }

  taken(kind: keyof Share): number {
    return this.#taken[kind];
  }

  left(kind: keyof Share): number {
    return MOST[kind] - this.#taken[kind];
  }

  has(share: Share, kind: keyof Share, amount = 1): boolean {
    return share[kind] + amount <= this.left(kind);
  }

  /** Does not check the limit. Call has() first. */
  take(share: Share, kind: keyof Share, amount = 1): void {
    share[kind] += amount;
    this.#taken[kind] += amount;
  }

  giveBack(share: Share, kind: keyof Share, amount = 1): void {
    this.take(share, kind, -amount);
  }

  /** Moves one unit from `from` to `to`. Returns false, and moves nothing, when `to` is full. */
  move(share: Share, from: keyof Share, to: keyof Share): boolean {
    if (!this.has(share, to)) return false;
    this.giveBack(share, from);
    this.take(share, to);
    return true;
  }

  /** Removes users that hold nothing and are not among `owners`. */
  keep(owners: ReadonlySet<string>): void {
    for (const [owner, { fast, slow, queued, chars }] of this.#shares) {
      if (!owners.has(owner) && fast + slow + queued + chars === 0) this.#shares.delete(owner);
    }
  }
}

export function emptyShare(): Share {
  return { fast: 0, slow: 0, queued: 0, chars: 0 };
}

/** Deliveries in this process, from the claim until their outcome is stored. Their bodies count against the capacity. */
export class Held extends Crowd<Item> {
  readonly #room: Room;

  constructor(room: Room) {
    super();
    this.#room = room;
  }

  override add(item: Item): void {
    super.add(item);
    this.#room.take(item.share, 'chars', item.body.length);
  }

  override delete(item: Item): boolean {
    const wasHeld = super.delete(item);
    if (wasHeld) this.#room.giveBack(item.share, 'chars', item.body.length);
    return wasHeld;
  }
}
