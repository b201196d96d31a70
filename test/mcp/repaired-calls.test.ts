import { afterAll, beforeAll, expect, test } from 'vitest';
import { endInvalidCalls } from '../eval/repairs.ts';
import { startService, type Service } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** The share of kinds that may fail. */
const MOST_FAILURES = 0.05;

test('nearly all kinds of invalid calls are forgiven or repaired in one turn', async () => {
  const outcomes = await endInvalidCalls(service, { few: false });
  const failures = outcomes.filter(({ expected, end }) => end !== expected);
  expect(outcomes.length).toBeGreaterThanOrEqual(60);
  const listed = failures.map(({ kind, end, said }) => `${kind}: ${end}: ${said}`);
  expect(listed.length <= outcomes.length * MOST_FAILURES ? [] : listed).toEqual([]);
});
