import { createTurns } from './turns.ts';

/** Lets pieces of work begin while a turn of the event loop is short. */
export interface ShortTurns {
  /**
   * Returns undefined when work may begin at once, or else a promise of its turn. Owners who wait take turns, and later
   * callers wait too.
   */
  begin(owner: string): Promise<void> | undefined;
  /** Notes that a connection arrived in this turn, because more of them may wait to be accepted. */
  connectionArrived(): void;
}

/** Work that has begun in a turn for this time lets other work wait. */
const TURN_MS = 10;

/**
 * While connections arrive without a pause, they have the first part of each period, and work begins in the rest of it.
 * Node.js accepts one connection in a turn. Without this, a new connection would wait for the work of all before it.
 */
const PERIOD_MS = 30;
const CONNECTIONS_MS = 20;

/**
 * Creates a queue for work of well below a millisecond, such as requests. Hundreds that arrive together would otherwise hold
 * the event loop until the last one has begun, and with it a health check.
 */
export function createShortTurns(now: () => number = () => performance.now()): ShortTurns {
  const waiting = createTurns<() => void>();
  let turnStartedAt: number | undefined;
  let arrived = false;
  /** The first of the turns that each had a new connection. */
  let arrivingSince: number | undefined;

  const beginTurn = () => {
    turnStartedAt = now();
    setImmediate(nextTurn);
  };
  const connectionsFirst = () =>
    arrivingSince !== undefined && (now() - arrivingSince) % PERIOD_MS < CONNECTIONS_MS;

  /** One of the waiting begins in each turn, because the others would begin before the turn ends. */
  const nextTurn = () => {
    turnStartedAt = undefined;
    if (!arrived) arrivingSince = undefined;
    arrived = false;
    if (waiting.size === 0 && arrivingSince === undefined) return;
    beginTurn();
    if (!connectionsFirst()) waiting.take()?.();
  };
  return {
    begin(owner) {
      if (turnStartedAt === undefined) beginTurn();
      const isShort = now() - (turnStartedAt ?? 0) < TURN_MS;
      if (waiting.size === 0 && isShort && !connectionsFirst()) return undefined;
      return new Promise((resolve) => waiting.add(owner, resolve));
    },
    connectionArrived() {
      arrived = true;
      arrivingSince ??= now();
      if (turnStartedAt === undefined) beginTurn();
    },
  };
}
