import { setTimeout as sleep } from 'node:timers/promises';
import { createTurns, type Turns } from './turns.ts';

/** The sender of work. One address can claim to be any number of callers. */
export interface Sender {
  address: string;
  /** Its token, for example. */
  caller: string;
}

/** Lets pieces of work begin while a turn of the event loop is short. */
export interface ShortTurns {
  /**
   * Returns undefined when work may begin at once, or else a promise of its turn. Addresses with waiting work take turns, and
   * so do the callers at each address. `senderOf` is called when the work must wait.
   */
  begin(senderOf: () => Sender): Promise<void> | undefined;
  /** Notes that a connection arrived in this turn, because more of them may wait to be accepted. */
  connectionArrived(): void;
  /** Resolves when no work has had to wait for a while, after a second at the latest. */
  quiet(): Promise<void>;
}

/** When work has begun for this long in one turn, the rest waits. */
const TURN_MS = 10;

/**
 * While connections arrive in each turn, no work begins in the first part of each period. Node.js accepts one connection
 * in a turn, so a new connection would otherwise wait for the work of all before it. A turn without a new connection ends this.
 */
const PERIOD_MS = 80;
const CONNECTIONS_MS = 70;
/** The longest time in which connections come first, so that a flood of them cannot hold the work. */
const FLOOD_MS = 1000;
/** It is quiet when no work has waited for this long. The first of many requests begin before others have to wait. */
const QUIET_MS = 20;
/** The longest wait until it is quiet. */
const BUSY_MS = 1000;

/**
 * Creates a queue for work of well below a millisecond, such as requests. Hundreds that arrive together would otherwise hold
 * the event loop until the last one has begun, and with it a health check.
 */
export function createShortTurns(now: () => number = () => performance.now()): ShortTurns {
  /** The address of each piece of work that waits. */
  const waiting = createTurns<string>();
  const queues = new Map<string, Turns<() => void>>();
  let turnStartedAt: number | undefined;
  let begunAt = now();
  /** When work last had to wait. */
  let busyAt = -Infinity;
  let arrived = false;
  /** When the first of the latest turns with a new connection each began. */
  let arrivingSince: number | undefined;

  const add = ({ address, caller }: Sender, work: () => void) => {
    const queue = queues.get(address) ?? createTurns();
    queues.set(address, queue);
    queue.add(caller, work);
    waiting.add(address, address);
  };
  const beginOne = () => {
    begunAt = now();
    const address = waiting.take();
    if (address === undefined) return;
    const queue = queues.get(address);
    const work = queue?.take();
    if (queue?.size === 0) queues.delete(address);
    work?.();
  };
  const beginTurn = (): number => {
    setImmediate(nextTurn);
    return (turnStartedAt = now());
  };
  /** Long turns of other work could miss the rest of each period, so work begins once in a period at least. */
  const connectionsFirst = () => {
    if (arrivingSince === undefined) return false;
    const arriving = now() - arrivingSince;
    return arriving < FLOOD_MS && arriving % PERIOD_MS < CONNECTIONS_MS && now() - begunAt < PERIOD_MS;
  };

  /** One of the waiting begins in each turn, because the others would begin before the turn ends. */
  const nextTurn = () => {
    turnStartedAt = undefined;
    if (!arrived) arrivingSince = undefined;
    arrived = false;
    if (waiting.size === 0 && arrivingSince === undefined) return;
    beginTurn();
    if (!connectionsFirst()) beginOne();
  };
  return {
    begin(senderOf) {
      const startedAt = turnStartedAt ?? beginTurn();
      const time = now();
      if (waiting.size > 0 || time - startedAt >= TURN_MS || connectionsFirst()) {
        busyAt = time;
        return new Promise((resolve) => add(senderOf(), resolve));
      }
      begunAt = time;
      return undefined;
    },
    connectionArrived() {
      arrived = true;
      arrivingSince ??= now();
      if (turnStartedAt === undefined) beginTurn();
    },
    async quiet() {
      const until = now() + BUSY_MS;
      do {
        await sleep(QUIET_MS);
      } while ((waiting.size > 0 || now() - busyAt < QUIET_MS) && now() < until);
    },
  };
}
