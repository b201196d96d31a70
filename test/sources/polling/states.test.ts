import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { recordChanges } from '../../../src/sources/polling/record-changes.ts';
import { toSource } from '../../../src/sources/source.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { STORE_KINDS } from '../../support/stores.ts';
import { openApp } from '../app.ts';

/* Records without a time of change. */

test.each(STORE_KINDS)('a record that goes back to an earlier state changed as well (%s)', async (kind) => {
  await using app = await openApp(kind);
  const connectionId = await app.listen('timeless');
  const made = app.clock.now();
  for (const [what, total] of [
    ['made', '1.00'],
    ['changed', '2.00'],
    ['changed', '1.00'],
    ['changed', '1.00'],
    ['changed', '2.00'],
  ] as const) {
    await app.announce(what, app.order('o1', made, { total, updated_at: `at ${app.clock.now()}` }));
    await app.look('inbox');
    app.clock.advance(SECOND);
  }
  expect(await app.published(connectionId)).toEqual(['created o1', ...Array(3).fill('updated o1')]);
});

test('a late created webhook does not restore the first state of a record', async () => {
  await using app = await openApp();
  const { clock } = app;
  const connectionId = await app.listen('timeless');
  await app.look('jobs');
  const made = app.order('o1', clock.now(), { total: '1.00' });
  const changed = { ...made, total: '2.00' };
  app.orders = [changed];
  for (const [what, order] of [
    ['changed', changed],
    ['made', made],
  ] as const) {
    clock.advance(SECOND);
    await app.announce(what, order);
    await app.look('inbox');
  }
  clock.advance(DAY + 4 * HOUR);
  await app.look();
  expect(await app.published(connectionId)).toEqual(['created o1']);
  // The record may return to that state, which an updated webhook then reports.
  await app.announce('changed', { ...made, updated_at: 'later' });
  await app.look('inbox');
  expect(await app.published(connectionId)).toEqual(['created o1', 'updated o1']);
});

test('a created webhook with a later state publishes that state', async () => {
  await using app = await openApp();
  const { clock } = app;
  const connectionId = await app.connect('numbered');
  await app.subscribe(connectionId);
  await app.look('jobs');
  await app.poll(connectionId);
  clock.advance(MINUTE);
  const made = app.order('o1');
  await app.announce('changed', made);
  await app.look('inbox');
  clock.advance(MINUTE);
  await app.announce('made', { ...made, updated_at: new Date(clock.now()).toISOString() });
  await app.look('inbox');
  expect(await app.published(connectionId)).toEqual(['created o1', 'updated o1']);
});

test('a change reads the keys of its record only, among any number of records', async () => {
  await using app = await openApp('postgres');
  const connectionId = await app.listen('timeless');
  const row = await app.source(connectionId);
  const { context } = app.service;
  await sql`insert into seen (source_id, key, seen_at)
    select ${row.source_id}, kind || n, 1 from generate_series(1, 5000) n, (values ('c:o'), ('v:o')) kinds (kind)`.execute(
    context.db,
  );
  const at = app.clock.now();
  const change = (email: string) =>
    context.db.transaction().execute(async (tx) => {
      const unified = {
        id: 'o1',
        remoteId: 'o1',
        createdAt: at,
        updatedAt: at,
        body: { email },
        state: email,
      };
      await recordChanges(tx, context, {
        source: toSource(row),
        observations: [{ unified, topic: 'updated' }],
      });
      const { rows } = await sql<{
        read: number;
      }>`select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as read
        from pg_stat_xact_user_tables where relname = 'seen'`.execute(tx);
      return rows[0]?.read;
    });
  await change('one');
  expect(await change('two')).toBeLessThan(100);
});

test('a checkout that was open at first is published once it is done and listed', async () => {
  await using app = await openApp();
  const { clock } = app;
  const connectionId = await app.connect('timeless');
  clock.advance(DAY);
  const begun = clock.now();
  const checkout = (id: string, ageMs: number) => ({ id, created_at: new Date(begun - ageMs).toISOString() });
  app.orders = [checkout('done', 2 * MINUTE)];
  await app.subscribe(connectionId);
  await app.poll(connectionId);
  // The first listing did not reach back to such old orders.
  app.orders.push(checkout('open', MINUTE), checkout('old', HOUR));
  for (const laterMs of [MINUTE, MINUTE, DAY, DAY]) {
    clock.advance(laterMs);
    await app.poll(connectionId);
  }
  expect(await app.published(connectionId)).toEqual(['created open']);
});
