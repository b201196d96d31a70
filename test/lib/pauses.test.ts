import { expect, test } from 'vitest';
import { withPauses } from '../../src/lib/pauses.ts';

test('short pieces of long work that follow each other let other work in between', async () => {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  count();
  for (let piece = 0; piece < 10; piece += 1)
    for await (const milliseconds of withPauses([3, 3])) workFor(milliseconds);
  isDone = true;
  expect(turns).toBeGreaterThan(5);
});

test('two long works take turns', async () => {
  const order: string[] = [];
  const work = async (name: string) => {
    for await (const milliseconds of withPauses(Array.from({ length: 10 }, () => 3))) {
      workFor(milliseconds);
      order.push(name);
    }
  };
  await Promise.all([work('a'), work('b')]);
  expect(order.indexOf('b')).toBeLessThan(order.lastIndexOf('a'));
});

function workFor(milliseconds: number): void {
  const startedAt = performance.now();
  while (performance.now() - startedAt < milliseconds);
}
