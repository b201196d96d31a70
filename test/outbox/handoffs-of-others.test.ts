import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql, type Transaction } from 'kysely';
import { Dispatcher } from '../../src/outbox/dispatcher.ts';
import { publish } from '../../src/outbox/publish.ts';
import { newOrderedId } from '../../src/lib/ids.ts';
import type { Tables } from '../../src/store/schema.ts';
import { startEvents, subscribe, type EventsService } from '../support/events.ts';
import { until } from '../support/until.ts';
import { scanned } from '../support/polls.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';

/* Handoffs of one process as the other processes see them. */

let service: EventsService;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  service = await startEvents();
  await subscribe(service, { address: receiver.url, scope: 'commerce/customers' });
});
afterAll(async () => {
  await service.stop();
  await receiver[Symbol.asyncDispose]();
});

/** Starts another dispatcher over the same store. It publishes a customer and runs `then` in the same transaction. */
function startBeside() {
  const { context } = service;
  const dispatcher = new Dispatcher(context, { outbound: context.outbound, scheduleMs: [1000] });
  dispatcher.start();
  return {
    dispatcher,
    publish: (recordId: string, then: (tx: Transaction<Tables>) => Promise<unknown>) =>
      context.db.transaction().execute(async (tx) => {
        const { source_id: sourceId } = await tx
          .selectFrom('sources')
          .select('source_id')
          .where('scope', '=', 'commerce/customers')
          .executeTakeFirstOrThrow();
        await publish(
          tx,
          { ...context, dispatcher },
          {
            source: { sourceId, environment: 'development' },
            events: [
              { eventScope: 'commerce/customers', event: 'created', recordId, body: { id: recordId } },
            ],
          },
        );
        await then(tx);
      }),
  };
}

test('an ordered subscription waits for a handoff until its lease expires', async () => {
  const { subscriptionId } = await subscribe(service, { address: receiver.url, ordered: true });
  const { db } = service.context;
  const now = Date.now();
  const insert = async (sequence: number, lease: { token: string; until: number } | undefined) => {
    const eventId = newOrderedId('evt', now);
    const body = JSON.stringify({ id: `o${sequence}` });
    await db
      .insertInto('events')
      .values({
        event_id: eventId,
        environment: 'development',
        scope: 'commerce/orders',
        event: 'created',
        record_id: `o${sequence}`,
        body,
        created_at: now,
      })
      .execute();
    const deliveryId = newOrderedId('msg', now);
    await db
      .insertInto('deliveries')
      .values({
        delivery_id: deliveryId,
        subscription_id: subscriptionId,
        event_id: eventId,
        sequence,
        status: 'waiting',
        next_at: lease?.until ?? now,
        lease_token: lease?.token ?? null,
        offered: lease ? 1 : 0,
        created_at: now,
        updated_at: now,
      })
      .execute();
    return deliveryId;
  };
  const first = await insert(1, { token: 'another process', until: now + 60_000 });
  await insert(2, undefined);
  await scanned(service);
  expect(receiver.received).toEqual([]);
  const listed = await service.call('GET', `/webhooks/${subscriptionId}/deliveries?status=waiting`);
  expect([listed.at('data.0.sequence'), listed.at('data.1.sequence')]).toEqual([2, 1]);

  await db.updateTable('deliveries').set({ next_at: now }).where('delivery_id', '=', first).execute();
  await receiver.arrived(2);
  expect(receiver.received.map(({ headers }) => headers['x-svc-sequence'])).toEqual(['1', '2']);
  await until(async () => {
    const left = await service.call('GET', `/webhooks/${subscriptionId}/deliveries?status=waiting`);
    return left.at('data.0') === undefined;
  });
});

test('a handoff is sent after a failed query of its commit succeeds', async () => {
  const { dispatcher, publish } = startBeside();
  const before = receiver.received.length;
  await publish('unseen', (tx) => sql`alter table deliveries rename to hidden_deliveries`.execute(tx));
  dispatcher.wake();
  await until(() => service.logged.some((line) => line.includes('deliveries not taken over')));
  await sql`alter table hidden_deliveries rename to deliveries`.execute(service.context.db);
  await receiver.arrived(before + 1);
  expect(receiver.received.at(-1)?.body).toBe('{"id":"unseen"}');
  await dispatcher.close();
});

test('a stop releases the handoffs of open transactions', async () => {
  const { dispatcher, publish } = startBeside();
  const before = receiver.received.length;
  let closed: Promise<void> | undefined;
  await publish('late', async () => void (closed = dispatcher.close()));
  await closed;
  await receiver.arrived(before + 1);
  expect(receiver.received.at(-1)?.body).toBe('{"id":"late"}');
});
