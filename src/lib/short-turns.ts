/** Lets pieces of work begin while a turn of the event loop is short. */
export interface ShortTurns {
  /**
   * Returns undefined when work may begin at once, or else a promise of its turn. Later callers wait for earlier ones.
   */
  begin(): Promise<void> | undefined;
}

/** Work that has begun in a turn for this time lets other work wait. */
const TURN_MS = 10;

/**
 * Creates a queue for work of well below a millisecond, such as requests. Hundreds that arrive together would otherwise hold
 * the event loop until the last one has begun, and with it a health check.
 */
export function createShortTurns(now: () => number = () => performance.now()): ShortTurns {
  const waiting: (() => void)[] = [];
  let turnStartedAt: number | undefined;

  /** One of the waiting begins in each turn, because the others would begin before the turn ends. */
  const nextTurn = () => {
    turnStartedAt = undefined;
    const first = waiting.shift();
    if (!first) return;
    turnStartedAt = now();
    setImmediate(nextTurn);
    first();
  };
  return {
    begin() {
      if (turnStartedAt === undefined) {
        turnStartedAt = now();
        setImmediate(nextTurn);
      }
      if (waiting.length === 0 && now() - turnStartedAt < TURN_MS) return undefined;
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
}
