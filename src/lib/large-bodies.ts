/** A larger body takes a place. */
export const LARGE_BODY_BYTES = 256 * 1024;

/** The place of one body. A large body takes it, and dispose frees it. */
export interface BodyPlace extends Disposable {
  /**
   * Takes a place. Returns true when reading may continue at once; otherwise `resume` is called later. Further calls
   * change nothing.
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

interface Waiting {
  owner: string;
  begin: () => void;
}

/**
 * Creates places: `most` in total, and `mostEach` for one owner, so that a slow third party leaves places to the
 * others.
 */
export function createLargeBodies({ most, mostEach }: { most: number; mostEach: number }): LargeBodies {
  const held = new Map<string, number>();
  let all = 0;
  let queue: Waiting[] = [];

  const hasPlace = (owner: string): boolean => all < most && (held.get(owner) ?? 0) < mostEach;
  const hold = (owner: string): void => {
    all += 1;
    held.set(owner, (held.get(owner) ?? 0) + 1);
  };
  const release = (owner: string): void => {
    all -= 1;
    const left = (held.get(owner) ?? 1) - 1;
    if (left > 0) held.set(owner, left);
    else held.delete(owner);
    const next = queue.find((waiting) => hasPlace(waiting.owner));
    if (!next) return;
    queue = queue.filter((waiting) => waiting !== next);
    next.begin();
  };

  return {
    place(owner) {
      let state: 'small' | 'waiting' | 'held' | 'over' = 'small';
      let waiting: Waiting | undefined;
      return {
        take(resume) {
          if (state !== 'small') return state === 'held';
          if (hasPlace(owner)) {
            state = 'held';
            hold(owner);
            return true;
          }
          state = 'waiting';
          const begin = (): void => {
            state = 'held';
            hold(owner);
            resume();
          };
          waiting = { owner, begin };
          queue.push(waiting);
          return false;
        },
        [Symbol.dispose]() {
          const before = state;
          state = 'over';
          if (before === 'waiting') queue = queue.filter((one) => one !== waiting);
          if (before === 'held') release(owner);
        },
      };
    },
  };
}
