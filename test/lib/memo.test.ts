import { expect, test } from 'vitest';
import { loadOnce } from '../../src/lib/memo.ts';

test('calls at the same time share a load, and a load that rejects is repeated', async () => {
  const loads = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  let begun = 0;
  const load = loadOnce(() => loads[begun++]?.promise ?? Promise.reject(new Error('third load')));
  const first = Promise.allSettled([load(), load()]);
  loads[0]?.reject(new Error('broken'));
  expect((await first).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  loads[1]?.resolve(7);
  expect(await Promise.all([load(), load()])).toEqual([7, 7]);
  expect(await load()).toBe(7);
});
