import { expect, test } from 'vitest';
import { createLoop } from '../../src/runtime/loop.ts';

/** Creates a loop whose turns begin up to two works. The test ends turns and works by hand. */
function openLoop({ drainMs }: { drainMs?: number } = {}) {
  const turns: PromiseWithResolvers<void>[] = [];
  const works: PromiseWithResolvers<void>[] = [];
  const errors: unknown[] = [];
  const signals: AbortSignal[] = [];
  const loop = createLoop({
    most: 2,
    ...(drainMs === undefined ? {} : { drainMs }),
    async turn({ signal, freeSlots }) {
      signals.push(signal);
      const turn = Promise.withResolvers<void>();
      turns.push(turn);
      await turn.promise;
      const begun = Array.from({ length: freeSlots }, () => Promise.withResolvers<void>());
      works.push(...begun);
      return begun.map(({ promise }) => promise);
    },
    onError: (error) => errors.push(error),
  });
  return { loop, turns, works, errors, signals };
}

/** Lets all promises that are resolved by now go on. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('calls of wake during a turn cause one more turn', async () => {
  const { loop, turns, works } = openLoop();
  loop.wake();
  loop.wake();
  loop.wake();
  expect(turns).toHaveLength(1);
  turns[0]?.reject(new Error('nothing begun'));
  await settled();
  expect(turns).toHaveLength(2);
  turns[1]?.reject(new Error('nothing begun'));
  await loop.idle();
  expect([turns.length, works.length]).toEqual([2, 0]);
});

test('a full loop begins no turn until half of its work has ended', async () => {
  const { loop, turns, works } = openLoop();
  loop.wake();
  turns[0]?.resolve();
  await settled();
  expect(works).toHaveLength(2);
  loop.wake();
  await settled();
  expect(turns).toHaveLength(1);
  works[0]?.resolve();
  await settled();
  expect(turns).toHaveLength(2);
  turns[1]?.resolve();
  await settled();
  expect(works).toHaveLength(3);
});

test('a loop continues after an error of a turn or of a work', async () => {
  const { loop, turns, works, errors } = openLoop();
  const [ofTurn, ofWork] = [new Error('turn'), new Error('work')];
  loop.wake();
  turns[0]?.reject(ofTurn);
  await loop.idle();
  loop.wake();
  turns[1]?.resolve();
  await settled();
  works[0]?.reject(ofWork);
  await settled();
  expect(errors).toEqual([ofTurn, ofWork]);
  expect(turns).toHaveLength(3);
});

test('close aborts the signal, waits for the work, and begins no turn', async () => {
  const { loop, turns, works, signals } = openLoop();
  loop.wake();
  turns[0]?.resolve();
  await settled();
  let isClosed = false;
  const closed = loop.close().then(() => (isClosed = true));
  loop.wake();
  await settled();
  expect([signals[0]?.aborted, isClosed, turns.length]).toEqual([true, false, 1]);
  for (const work of works) work.resolve();
  await closed;
  expect(turns).toHaveLength(1);
});

test('close waits no longer than its limit', async () => {
  const { loop, turns, works } = openLoop({ drainMs: 1 });
  loop.wake();
  turns[0]?.resolve();
  await settled();
  await loop.close();
  expect(works).toHaveLength(2);
});
