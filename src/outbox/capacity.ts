/** Capacity of this process that the deliveries of one user hold. */
export interface Usage {
  /** Running attempts of healthy queues. */
  fast: number;
  /** Running attempts of degraded queues, and attempts that hang. */
  slow: number;
  /** Deliveries that wait in queues. */
  queued: number;
  /** Characters of the bodies in memory. */
  chars: number;
}

const LIMITS: Readonly<Usage> = { fast: 2000, slow: 2000, queued: 10_000, chars: 128 * 1024 * 1024 };

/**
 * Capacity shared by all users. A user may hold at most as much as is still free, so one user can use half, two users a
 * third each. Hanging addresses or large records of one user therefore cannot block the others.
 */
export class Capacity {
  readonly #used = emptyUsage();
  readonly #usages = new Map<string, Usage>();

  usageOf(owner: string): Usage {
    let usage = this.#usages.get(owner);
    if (!usage) this.#usages.set(owner, (usage = emptyUsage()));
    return usage;
  }

  used(kind: keyof Usage): number {
    return this.#used[kind];
  }

  free(kind: keyof Usage): number {
    return LIMITS[kind] - this.#used[kind];
  }

  has(usage: Usage, kind: keyof Usage, amount = 1): boolean {
    return usage[kind] + amount <= this.free(kind);
  }

  /** Does not check the limit. Call has() first. */
  take(usage: Usage, kind: keyof Usage, amount = 1): void {
    usage[kind] += amount;
    this.#used[kind] += amount;
  }

  release(usage: Usage, kind: keyof Usage, amount = 1): void {
    this.take(usage, kind, -amount);
  }

  /** Moves one unit from `from` to `to`. Returns false, and moves nothing, when `to` is full. */
  move(usage: Usage, from: keyof Usage, to: keyof Usage): boolean {
    if (!this.has(usage, to)) return false;
    this.release(usage, from);
    this.take(usage, to);
    return true;
  }

  /** Removes users that hold nothing and are not among `owners`. */
  prune(owners: ReadonlySet<string>): void {
    for (const [owner, { fast, slow, queued, chars }] of this.#usages) {
      if (!owners.has(owner) && fast + slow + queued + chars === 0) this.#usages.delete(owner);
    }
  }
}

export function emptyUsage(): Usage {
  return { fast: 0, slow: 0, queued: 0, chars: 0 };
}
