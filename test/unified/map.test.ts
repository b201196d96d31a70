import { readFileSync } from 'node:fs';
import { afterEach, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { GatehouseError } from '../../src/lib/errors.ts';
import { canonicalJson, type Json } from '../../src/lib/json.ts';
import { contentOf, parseTime, toUnified, unifiedOf } from '../../src/unified/map.ts';
import { unifiedRecord } from '../../src/unified/models.ts';
import { startService, type Service } from '../support/service.ts';
import { sha256 } from '../../src/lib/sha256.ts';

const examples = z.object({ unified: z.array(z.object({ scope: z.string(), record: z.json() })) });

test('the event loop turns during a thousand mappings, and a failed one stops none', async () => {
  await using service = await startService();
  const connector = service.context.catalog.connector('development', 'shopify');
  if (!connector) throw new Error('no shopify');
  const text = readFileSync('data/connectors/shopify/examples.yaml', 'utf8');
  const { unified } = examples.parse(parse(text, { maxAliasCount: -1, merge: true }));
  const order = unified.find(({ scope }) => scope === 'commerce/orders')?.record ?? null;
  const what = { connector, scope: 'commerce/orders', connectionId: 'cred_1' } as const;
  const all = [{ id: null }, ...Array<typeof order>(1000).fill(order)];
  // The first record loads JSONata.
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

const SCOPE = 'commerce/products';

/** Returns a shop's connector, with `map` in place of its own. */
function shopOf({ context }: Service, map?: string) {
  const connector = context.catalog.connector('development', 'shopify');
  const model = connector?.definition.unified[SCOPE];
  if (!connector || !model) throw new Error('no shopify');
  const unified = { ...connector.definition.unified, [SCOPE]: map === undefined ? model : { ...model, map } };
  return { ...connector, definition: { ...connector.definition, unified } };
}

const withVariants = z.object({
  id: z.string(),
  variants: z.array(
    z.object({ id: z.string().nullable(), remoteId: z.string().nullable(), productId: z.string() }),
  ),
});

test('a variant has a stable id of its own, and names its product', async () => {
  await using service = await startService();
  const connector = shopOf(service);
  const read = async (record: Json, connectionId = 'cred_1') => {
    const { body } = await toUnified({ connector, scope: SCOPE, connectionId }, record);
    // The body fits the published model: no member is missing or unknown.
    expect(unifiedRecord.parse(body)).toEqual(body);
    return withVariants.parse(body);
  };
  const one = await read({ id: 7, variants: [{ id: 7 }, { id: 8 }, { title: 'M' }, { title: 'L' }] });
  const again = await read({ id: 7, title: 'Cup', variants: [{ id: 8, price: '9.90' }] });
  const other = await read({ id: 70, variants: [{ id: 7 }, { id: 8 }] });
  const elsewhere = await read({ id: 7, variants: [{ id: 7 }, { id: 8 }] }, 'cred_2');

  expect(one.variants.map(({ remoteId }) => remoteId)).toEqual(['7', '8', null, null]);
  expect(one.variants.slice(2).map(({ id }) => id)).toEqual([null, null]);
  expect(again.variants[0]?.id).toBe(one.variants[1]?.id);
  for (const product of [one, other, elsewhere])
    expect(new Set(product.variants.map(({ productId }) => productId))).toEqual(new Set([product.id]));
  const ids = [one, other, elsewhere].flatMap(({ id, variants }) => [id, ...variants.map((each) => each.id)]);
  const known = ids.filter((id) => id !== null);
  expect(known).toHaveLength(9);
  expect(new Set(known).size).toBe(9);
});

test.each([
  ['{"id": "mine"}', 'Unrecognized key: "id"'],
  ['{"variants": [{"remoteId": "8", "id": "mine"}]}', 'variants.0: Unrecognized key: "id"'],
  ['{"variants": [{"remoteId": "8", "productId": "mine"}]}', 'variants.0: Unrecognized key: "productId"'],
])('a connector cannot set an id of ours: %s', async (map, fault) => {
  await using service = await startService();
  const what = { connector: shopOf(service, map), scope: SCOPE, connectionId: 'cred_1' } as const;
  await expect(toUnified(what, { id: 7 })).rejects.toThrow(fault);
});

test('the content hash of a product is the same as before variants had ids', async () => {
  await using service = await startService();
  const { body } = await toUnified(
    { connector: shopOf(service), scope: SCOPE, connectionId: 'cred_1' },
    {
      id: 7,
      title: 'Mug',
      created_at: '2026-03-01T10:00:00Z',
      updated_at: '2026-03-02T10:00:00Z',
      variants: [{ id: 71, title: 'S', sku: 'MUG-S', price: '12.50' }, { title: 'L' }],
    },
    async () => ({ shelf: 4 }),
  );
  // The hash that the last release stored for this record.
  expect(sha256(canonicalJson(contentOf(body))).slice(0, 16)).toBe('KIaFcl9WoDYKvzsZ');
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
])('the time "%s" is the same moment in every time zone of this machine', (text) => {
  for (const zone of ['Europe/Berlin', 'America/New_York', 'UTC']) {
    vi.stubEnv('TZ', zone);
    expect([zone, parseTime(text, 'iso')]).toEqual([zone, Date.parse('2026-03-01T10:00:00Z')]);
  }
});

test('a date alone is its midnight in UTC', () => {
  vi.stubEnv('TZ', 'Europe/Berlin');
  expect(parseTime('2026-03-01', 'iso')).toBe(Date.parse('2026-03-01T00:00:00Z'));
});
