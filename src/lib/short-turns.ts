import { createTurns } from './turns.ts';

/** Lets pieces of work begin while a turn of the event loop is short. */
export interface ShortTurns {
  /**
   * Returns undefined when work may begin at once, or else a promise of its turn. Owners who wait take turns, and later
   * callers wait too.
   */
  begin(owner: string): Promise<void> | undefined;
}

/** Work that has begun in a turn for this time lets other work wait. */
const TURN_MS = 10;

/**
 * Creates a queue for work of well below a millisecond, such as requests. Hundreds that arrive together would otherwise hold
 * the event loop until the last one has begun, and with it a health check.
 */
export function createShortTurns(now: () => number = () => performance.now()): ShortTurns {
  const waiting = createTurns<() => void>();
  let turnStartedAt: number | undefined;

  /** One of the waiting begins in each turn, because the others would begin before the turn ends. */
  const nextTurn = () => {
    turnStartedAt = undefined;
    const first = waiting.take();
    if (!first) return;
    turnStartedAt = now();
    setImmediate(nextTurn);
    first();
  };
  return {
    begin(owner) {
      if (turnStartedAt === undefined) {
        turnStartedAt = now();
        setImmediate(nextTurn);
      }
      if (waiting.size === 0 && now() - turnStartedAt < TURN_MS) return undefined;
      return new Promise((resolve) => waiting.add(owner, resolve));
    },
  };
}
