import { Crowd } from '../lib/crowd.ts';
import type { Item } from './claim.ts';

/** What the deliveries of one user take of this process. */
export interface Share {
  /** Attempts of lanes in good standing. */
  fast: number;
  /** Attempts of suspects. */
  slow: number;
  /** Deliveries that wait in lanes. */
  queued: number;
  /** Characters of the bodies in memory. */
  chars: number;
}

const MOST: Readonly<Share> = { fast: 2000, slow: 2000, queued: 10_000, chars: 128 * 1024 * 1024 };

/**
 * Room for deliveries, of which nobody takes more than is left for others: a user whose addresses hang, or whose records are
 * large, has half of it at most, two such a third each.
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

  /** Also what it has not: who decides asks before. */
  take(share: Share, kind: keyof Share, amount = 1): void {
    share[kind] += amount;
    this.#taken[kind] += amount;
  }

  giveBack(share: Share, kind: keyof Share, amount = 1): void {
    this.take(share, kind, -amount);
  }

  /** One from here to there, where that has room. Whether it had. */
  move(share: Share, from: keyof Share, to: keyof Share): boolean {
    if (!this.has(share, to)) return false;
    this.giveBack(share, from);
    this.take(share, to);
    return true;
  }

  /** Forgets who is not among these and has nothing here. */
  keep(owners: ReadonlySet<string>): void {
    for (const [owner, { fast, slow, queued, chars }] of this.#shares) {
      if (!owners.has(owner) && fast + slow + queued + chars === 0) this.#shares.delete(owner);
    }
  }
}

export function emptyShare(): Share {
  return { fast: 0, slow: 0, queued: 0, chars: 0 };
}

/** Deliveries that are in this process, from the claim until what came of them is written. Their bodies take room. */
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
