import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createShortTurns } from '../../src/lib/short-turns.ts';

test('work begins at once until the turn has taken ten milliseconds, then one by one', async () => {
  let now = 0;
  const turns = createShortTurns(() => now);
  expect(turns.begin()).toBeUndefined();
  now = 9;
  expect(turns.begin()).toBeUndefined();
  now = 10;
  const begun: number[] = [];
  for (const number of [1, 2, 3]) void turns.begin()?.then(() => begun.push(number));
  await Promise.resolve();
  expect(begun).toEqual([]);
  const seen = [];
  for (let turn = 0; turn < 4; turn += 1) {
    await nextTurn();
    seen.push([...begun]);
  }
  expect(seen.at(-1)).toEqual([1, 2, 3]);
  expect(seen).toContainEqual([1]);
  expect(seen).toContainEqual([1, 2]);
});

test('a caller that comes later waits for those who wait', async () => {
  let now = 0;
  const turns = createShortTurns(() => now);
  void turns.begin();
  now = 50;
  const first = turns.begin();
  now = 50;
  const order: string[] = [];
  void first?.then(() => order.push('first'));
  void turns.begin()?.then(() => order.push('second'));
  await expect.poll(() => order).toEqual(['first', 'second']);
  await nextTurn();
  expect(turns.begin()).toBeUndefined();
});
