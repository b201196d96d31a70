import { readFileSync } from 'node:fs';
import { afterEach, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { GatehouseError } from '../../src/lib/errors.ts';
import { parseTime, unifiedOf } from '../../src/unified/map.ts';
import { startService } from '../support/service.ts';

const examples = z.object({ unified: z.array(z.object({ scope: z.string(), record: z.json() })) });

test('while a thousand records are mapped, the event loop turns; one that does not fit stops none of the others', async () => {
  await using service = await startService();
  const connector = service.context.catalog.connector('development', 'shopify');
  if (!connector) throw new Error('no shopify');
  const text = readFileSync('data/connectors/shopify/examples.yaml', 'utf8');
  const { unified } = examples.parse(parse(text, { maxAliasCount: -1, merge: true }));
  const order = unified.find(({ scope }) => scope === 'commerce/orders')?.record ?? null;
  const what = { connector, scope: 'commerce/orders', connectionId: 'cred_1' } as const;
  const all = [{ id: null }, ...Array<typeof order>(1000).fill(order)];
  // The first one loads JSONata.
  for await (const _ of unifiedOf(what, [order]));
  let turns = 0;
  const count = (): void => {
    turns++;
    turn = setImmediate(count);
  };
  let turn = setImmediate(count);
  let mapped = 0;
  const refused: string[] = [];
  for await (const [record, one] of unifiedOf(what, all)) {
    if (one instanceof GatehouseError) refused.push(one.message);
    else if (record === order) mapped++;
  }
  clearImmediate(turn);
  expect(mapped).toBe(1000);
  expect(refused).toEqual([expect.stringContaining('has no id')]);
  expect(turns).toBeGreaterThan(3);
});

afterEach(() => vi.unstubAllEnvs());

test.each([
  '2026-03-01T10:00:00',
  '2026-03-01 10:00:00',
  '2026-03-01 10:00',
  '2026-03-01 10:00:00.000',
  '2026-03-01T10:00:00Z',
  '2026-03-01 10:00:00 UTC',
  '2026-03-01T12:00:00+02:00',
  '2026-03-01 05:00:00 -0500',
  '2026-03-01 12:00:00+02',
  'Sun, 01 Mar 2026 10:00:00 GMT',
])('%s is the same moment wherever this machine is', (text) => {
  for (const zone of ['Europe/Berlin', 'America/New_York', 'UTC']) {
    vi.stubEnv('TZ', zone);
    expect([zone, parseTime(text, 'iso')]).toEqual([zone, Date.parse('2026-03-01T10:00:00Z')]);
  }
});

test('a date alone is its midnight in UTC', () => {
  vi.stubEnv('TZ', 'Europe/Berlin');
  expect(parseTime('2026-03-01', 'iso')).toBe(Date.parse('2026-03-01T00:00:00Z'));
});
