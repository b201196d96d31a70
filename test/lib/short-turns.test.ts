import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createShortTurns } from '../../src/lib/short-turns.ts';

test('work begins at once until the turn has taken ten milliseconds, then one by one', async () => {
  let now = 0;
  const turns = createShortTurns(() => now);
  expect(turns.begin('one')).toBeUndefined();
  now = 9;
  expect(turns.begin('one')).toBeUndefined();
  now = 10;
  const begun: number[] = [];
  for (const number of [1, 2, 3]) void turns.begin('one')?.then(() => begun.push(number));
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
  void turns.begin('one');
  now = 50;
  const first = turns.begin('one');
  const order: string[] = [];
  void first?.then(() => order.push('first'));
  void turns.begin('one')?.then(() => order.push('second'));
  await expect.poll(() => order).toEqual(['first', 'second']);
  await nextTurn();
  expect(turns.begin('one')).toBeUndefined();
});

test('an owner with many pieces of work delays another by one', async () => {
  let now = 0;
  const turns = createShortTurns(() => now);
  void turns.begin('one');
  now = 50;
  const order: string[] = [];
  for (const owner of ['one', 'one', 'one', 'other']) void turns.begin(owner)?.then(() => order.push(owner));
  await expect.poll(() => order).toEqual(['one', 'other', 'one', 'one']);
});

test('work has a third of the time while connections arrive without a pause', async () => {
  let now = 0;
  const turns = createShortTurns(() => now);
  const begunAt: number[] = [];
  for (let count = 0; count < 5; count += 1) void turns.begin('one');
  turns.connectionArrived();
  for (let count = 0; count < 5; count += 1) void turns.begin('one')?.then(() => begunAt.push(now));
  for (now = 1; now <= 60; now += 1) {
    turns.connectionArrived();
    await nextTurn();
  }
  expect(begunAt.length).toBe(5);
  expect(begunAt.filter((at) => at % 30 < 19)).toEqual([]);
});

test('work begins after a turn without a new connection', async () => {
  const turns = createShortTurns(() => 0);
  turns.connectionArrived();
  const begun = turns.begin('one');
  expect(begun).toBeInstanceOf(Promise);
  await begun;
  await nextTurn();
  expect(turns.begin('one')).toBeUndefined();
});
