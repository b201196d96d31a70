import { expect, test } from 'vitest';
import { recordChanges } from '../../src/sources/polling/record-changes.ts';
import { toSource } from '../../src/sources/source.ts';
import type { Json } from '../../src/lib/json.ts';
import { toUnified } from '../../src/unified/map.ts';
import { startEvents, subscribe } from '../support/events.ts';
import { startService } from '../support/service.ts';

test('new variant ids do not report a product again that the last release knew', async () => {
  await using service = await startEvents();
  await using shops = await startService();
  const connector = shops.context.catalog.connector('development', 'shopify');
  if (!connector) throw new Error('no shopify');
  const { context } = service;
  await context.sources.close();
  await subscribe(service, {
    address: 'https://127.0.0.1:9/never',
    scope: 'commerce/products',
    events: ['created', 'updated'],
  });
  const row = await context.db.selectFrom('sources').selectAll().executeTakeFirstOrThrow();
  const state = `${Date.parse('2026-03-02T10:00:00Z')}:KIaFcl9WoDYKvzsZ`;
  const seen = { source_id: row.source_id, seen_at: context.clock.now() };
  await context.db
    .insertInto('seen')
    .values([
      { ...seen, key: 'c:7', state },
      { ...seen, key: `v:7:${state}`, state: null },
    ])
    .execute();
  const tell = async (more: { title?: string; updated_at?: string } = {}) => {
    const record: Json = {
      id: 7,
      title: 'Mug',
      created_at: '2026-03-01T10:00:00Z',
      updated_at: '2026-03-02T10:00:00Z',
      variants: [{ id: 71, title: 'S', sku: 'MUG-S', price: '12.50' }, { title: 'L' }],
      ...more,
    };
    const what = { connector, scope: 'commerce/products', connectionId: 'cred_1' } as const;
    const unified = await toUnified(what, record);
    const source = toSource(row);
    await context.db
      .transaction()
      .execute((tx) => recordChanges(tx, context, { source, observations: [{ unified }] }));
    const events = await context.db.selectFrom('events').select(['event', 'body']).execute();
    return events.map(({ event, body }) => ({ event, ...JSON.parse(body) }));
  };
  expect(await tell()).toEqual([]);
  const told = await tell({ title: 'Cup', updated_at: '2026-03-03T10:00:00Z' });
  expect(told).toEqual([expect.objectContaining({ event: 'updated', productName: 'Cup' })]);
  const [{ id, variants }] = told;
  expect(variants).toMatchObject([
    { id: expect.stringMatching(/^variant_/), remoteId: '71', productId: id },
    { id: null, productId: id },
  ]);
});
