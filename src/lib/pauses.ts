import { setImmediate as nextTurn } from 'node:timers/promises';

/** Time that all long work together may take in one turn of the event loop. */
const TURN_MS = 5;

/** When the first of this work began in the current turn. */
let turnStartedAt: number | undefined;

/** Yields the items of long work. Between two items, the process does its other work when 5 ms have passed. */
export async function* withPauses<T>(items: Iterable<T>): AsyncGenerator<T> {
  for (const item of items) {
    if (isTurnOver()) await nextTurn();
    yield item;
  }
}

function isTurnOver(): boolean {
  if (turnStartedAt === undefined) {
    turnStartedAt = performance.now();
    setImmediate(() => {
      turnStartedAt = undefined;
    });
  }
  return performance.now() - turnStartedAt >= TURN_MS;
}
