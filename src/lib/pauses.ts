import { setImmediate as nextTurn } from 'node:timers/promises';

/** Time that work may take between two turns of the event loop. */
const TURN_MS = 10;

/** Yields the items of long work. Between two items, the process does its other work when 10 ms have passed. */
export async function* withPauses<T>(items: Iterable<T>): AsyncGenerator<T> {
  let turnedAt = performance.now();
  for (const item of items) {
    if (performance.now() - turnedAt >= TURN_MS) {
      await nextTurn();
      turnedAt = performance.now();
    }
    yield item;
  }
}
