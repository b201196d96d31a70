/** A larger body takes a place. */
export const LARGE_BODY_BYTES = 256 * 1024;

/** The place of one body. A large body takes it, and dispose frees it. */
export interface BodyPlace extends Disposable {
  /**
   * Takes a place. Returns true when reading may continue at once; otherwise `resume` is called later. Further calls
   * change nothing. A body whose place was disposed is not held in memory, so it may always continue.
   */
  take(resume: () => void): boolean;
}

/**
 * Places for large bodies that are read and parsed at the same time. Further bodies wait unread, in the order of their
 * arrival.
 */
export interface LargeBodies {
  place(owner: string): BodyPlace;
}

/**
 * Creates places: `most` in total, and `mostEach` for one owner, so that a slow third party leaves places to the
 * others.
 */
export function createLargeBodies(most: Most): LargeBodies {
  const places = new Places(most);
  return { place: (owner) => new Place(places, owner) };
}

interface Most {
  most: number;
  mostEach: number;
}

/** The held places, and the bodies that wait for one. */
class Places {
  readonly #most: Most;
  readonly #held = new Map<string, number>();
  #all = 0;
  #queue: Place[] = [];

  constructor(most: Most) {
    this.#most = most;
  }

  /** Takes a place for an owner, if one is free. */
  hold(owner: string): boolean {
    const { most, mostEach } = this.#most;
    const ofOwner = this.#held.get(owner) ?? 0;
    if (this.#all >= most || ofOwner >= mostEach) return false;
    this.#all += 1;
    this.#held.set(owner, ofOwner + 1);
    return true;
  }

  wait(place: Place): void {
    this.#queue.push(place);
  }

  leave(place: Place): void {
    this.#queue = this.#queue.filter((one) => one !== place);
  }

  release(owner: string): void {
    this.#all -= 1;
    const left = (this.#held.get(owner) ?? 1) - 1;
    if (left > 0) this.#held.set(owner, left);
    else this.#held.delete(owner);
    const next = this.#queue.find((waiting) => this.hold(waiting.owner));
    if (!next) return;
    this.leave(next);
    next.begin();
  }
}

/** A class, because every call makes a place and few take it: closures cost 1 µs more. */
class Place implements BodyPlace {
  readonly owner: string;
  readonly #places: Places;
  #state: 'small' | 'waiting' | 'held' | 'over' = 'small';
  #resume: (() => void) | undefined;

  constructor(places: Places, owner: string) {
    this.#places = places;
    this.owner = owner;
  }

  take(resume: () => void): boolean {
    if (this.#state !== 'small') return this.#state !== 'waiting';
    if (this.#places.hold(this.owner)) {
      this.#state = 'held';
      return true;
    }
    this.#state = 'waiting';
    this.#resume = resume;
    this.#places.wait(this);
    return false;
  }

  /** Begins to read, in a place that is held for it. */
  begin(): void {
    this.#state = 'held';
    this.#resume?.();
  }

  [Symbol.dispose](): void {
    const before = this.#state;
    this.#state = 'over';
    if (before === 'waiting') this.#places.leave(this);
    if (before === 'held') this.#places.release(this.owner);
  }
}
