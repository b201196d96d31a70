import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createShortTurns } from '../../src/lib/short-turns.ts';

const at =
  (address: string, caller = 'one') =>
  () => ({ address, caller });

test('work begins at once until the turn has taken ten milliseconds, then one by one', async () => {
  let now = 0;
  const turns = createShortTurns(() => now);
  expect(turns.begin(at('one'))).toBeUndefined();
  now = 9;
  expect(turns.begin(at('one'))).toBeUndefined();
  now = 10;
  const begun: number[] = [];
  for (const number of [1, 2, 3]) void turns.begin(at('one'))?.then(() => begun.push(number));
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
  void turns.begin(at('one'));
  now = 50;
  const first = turns.begin(at('one'));
  const order: string[] = [];
  void first?.then(() => order.push('first'));
  void turns.begin(at('one'))?.then(() => order.push('second'));
  await expect.poll(() => order).toEqual(['first', 'second']);
  await nextTurn();
  expect(turns.begin(at('one'))).toBeUndefined();
});

/** Keeps the processor busy for a millisecond of real time. */
function spin(): void {
  const end = performance.now() + 1;
  while (performance.now() < end);
}

/** Returns how many of 60 pieces of work, of a millisecond each, have begun when it is quiet. */
async function begunWhenQuiet({ onFirst, onLast }: { onFirst: number; onLast: number }): Promise<number> {
  let now = 0;
  let begun = 0;
  const turns = createShortTurns(() => now);
  void turns.begin(at('one'));
  now = 50;
  const work = async () => {
    await turns.begin(at('one'));
    begun += 1;
    if (begun === 1) now = onFirst;
    if (begun === 60) now = onLast;
    spin();
  };
  for (let left = 60; left > 0; left -= 1) void work();
  await turns.quiet();
  return begun;
}

test('it is quiet when no work waits any more', async () => {
  expect(await begunWhenQuiet({ onFirst: 50, onLast: 500 })).toBe(60);
});

test('it counts as quiet after a second of waiting work', async () => {
  expect(await begunWhenQuiet({ onFirst: 1100, onLast: 1100 })).toBeLessThan(60);
});

/** Lets work of `address/caller` wait in a turn that is too long. Returns the same texts in the order in which it begins. */
async function orderOf(senders: string[]): Promise<string[]> {
  let now = 0;
  const turns = createShortTurns(() => now);
  void turns.begin(at('one'));
  now = 50;
  const order: string[] = [];
  await Promise.all(
    senders.map(async (sender) => {
      const [address = '', caller] = sender.split('/');
      await turns.begin(at(address, caller));
      order.push(sender);
    }),
  );
  return order;
}

test('an address with much work delays another one by one piece', async () => {
  expect(await orderOf(['one', 'one', 'one', 'other'])).toEqual(['one', 'other', 'one', 'one']);
});

test('work has an eighth of the time while connections arrive without a pause', async () => {
  let now = 0;
  const turns = createShortTurns(() => now);
  const begunAt: number[] = [];
  turns.connectionArrived();
  for (let count = 0; count < 5; count += 1) void turns.begin(at('one'))?.then(() => begunAt.push(now));
  for (now = 1; now <= 160; now += 1) {
    turns.connectionArrived();
    await nextTurn();
  }
  expect(begunAt.length).toBe(5);
  expect(begunAt.filter((begun) => begun % 80 < 69)).toEqual([]);
});

test('work begins after a turn without a new connection', async () => {
  const turns = createShortTurns(() => 0);
  turns.connectionArrived();
  const begun = turns.begin(at('one'));
  expect(begun).toBeInstanceOf(Promise);
  await begun;
  await nextTurn();
  expect(turns.begin(at('one'))).toBeUndefined();
});

test('callers at one address take turns, and share the turns of one address', async () => {
  const senders = ['one/a', 'one/a', 'one/b', 'one/c', 'two/x', 'two/y'];
  expect(await orderOf(senders)).toEqual(['one/a', 'two/x', 'one/b', 'two/y', 'one/c', 'one/a']);
});

test('work begins once in a period though each turn is long and has a new connection', async () => {
  let now = 0;
  const turns = createShortTurns(() => now);
  turns.connectionArrived();
  let begun = 0;
  for (let count = 0; count < 3; count += 1) void turns.begin(at('one'))?.then(() => (begun += 1));
  for (let turn = 0; turn < 5; turn += 1) {
    now += 80;
    turns.connectionArrived();
    await nextTurn();
  }
  expect(begun).toBe(3);
});

test('a flood of connections holds the work back for a second at most', async () => {
  let now = 0;
  const turns = createShortTurns(() => now);
  const arriveUntil = async (end: number) => {
    for (; now < end; now += 5) {
      turns.connectionArrived();
      await nextTurn();
    }
  };
  await arriveUntil(980);
  expect(turns.begin(at('one'))).toBeInstanceOf(Promise);
  await arriveUntil(1010);
  expect(turns.begin(at('one'))).toBeUndefined();
});
