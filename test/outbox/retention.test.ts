import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deleteOldEvents } from '../../src/outbox/event-retention.ts';
import { DAY } from '../../src/lib/clock.ts';
import { created, startEvents, subscribe, type EventsService } from '../support/events.ts';
import { until } from '../support/until.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { STORE_KINDS } from '../support/stores.ts';

let service: EventsService;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  service = await startEvents();
});
afterAll(async () => {
  await service.stop();
  await receiver[Symbol.asyncDispose]();
});

test('events and deliveries are stored for 30 days, waiting ones longer', async () => {
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  const listed = async () =>
    (await service.call('GET', `/webhooks/${subscriptionId}/deliveries`)).at('data') as {
      sequence: number;
      status: string;
    }[];
  const statuses = async () => (await listed()).map(({ sequence, status }) => `${sequence} ${status}`);
  await created(service, ['sent']);
  await until(async () => (await statuses()).join() === '1 succeeded');
  // Another source, and an event of the environment itself.
  await subscribe(service, { address: receiver.url, scope: 'commerce/products' });
  await created(service, ['of another source'], { scope: 'commerce/products' });
  expect((await service.call('POST', `/webhooks/${subscriptionId}/test`)).status).toBe(202);
  await until(async () => (await statuses()).join() === '2 succeeded,1 succeeded');
  receiver.answer = (_, res) => res.writeHead(500).end();
  await created(service, ['waits']);
  await receiver.arrived(4);

  const { db, clock } = service.context;
  const after = (ms: number) => ({ db, clock: { ...clock, now: () => clock.now() + ms } });
  await deleteOldEvents(after(30 * DAY - 60_000));
  expect(await statuses()).toEqual(['3 waiting', '2 succeeded', '1 succeeded']);
  await deleteOldEvents(after(30 * DAY + 60_000));
  expect(await statuses()).toEqual(['3 waiting']);
  const kept = await db.selectFrom('events').select('record_id').execute();
  expect(kept).toEqual([{ record_id: 'waits' }]);
});

test.each(STORE_KINDS)('deliveries of old events are deleted in steps on %s', async (kind) => {
  await using many = await startEvents({ kind });
  const { db, clock } = many.context;
  for (let n = 0; n < 20; n++) await subscribe(many, { address: `${receiver.url}/${n}` });
  await sql`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 100)
      insert into events (event_id, environment, source_id, scope, event, record_id, body, created_at)
      select 'evt_' || n, 'development', source_id, 'commerce/orders', 'created', 'o', '{}', 0
      from numbers, sources`.execute(db);
  await sql`insert into deliveries
        (delivery_id, subscription_id, event_id, sequence, status, next_at, created_at, updated_at)
      select subscription_id || event_id, subscription_id, event_id, 1, 'succeeded', 0, 0, 0
      from events, subscriptions`.execute(db);
  const left = async () =>
    Number((await sql<{ left: number }>`select count(*) as left from deliveries`.execute(db)).rows[0]?.left);
  expect(await left()).toBe(2000);
  const seen = new Set<number>();
  const over = new AbortController();
  const deletion = deleteOldEvents({ db, clock }).finally(() => over.abort());
  while (!over.signal.aborted) {
    seen.add(await left());
    await nextTurn();
  }
  await deletion;
  expect(await left()).toBe(0);
  // Other queries ran during the deletion.
  expect([...seen].filter((some) => some > 0 && some < 2000)).not.toEqual([]);
  expect(await db.selectFrom('events').select('event_id').execute()).toEqual([]);
});
