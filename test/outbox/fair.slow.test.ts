import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { HOUR, SECOND } from '../../src/lib/clock.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import { TIMING } from '../../src/outbox/delivery-timing.ts';
import { Dispatcher } from '../../src/outbox/dispatcher.ts';
import { publish } from '../../src/outbox/publish.ts';
import { created, startEvents, subscribe, type EventsService } from '../support/events.ts';
import { until } from '../support/until.ts';
import { scanned } from '../support/polls.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { startService } from '../support/service.ts';

/* Users share the capacity for attempts and memory fairly. */

const QUIET = { env: { LOG_LEVEL: 'error' } };

/** Returns the same service for another user. */
async function another(service: EventsService): Promise<EventsService> {
  const userId = (await service.call('POST', '/users', { body: { username: 'another' } })).text('userId');
  const connectionId = (
    await service.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId: 'shop', data: { token: 'shop_another' } },
    })
  ).text('credentialId');
  return { ...service, userId, connectionId };
}

const many = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${name}${n}`);

/** Creates one subscription for each of `count` addresses of a receiver. */
async function subscribeMany(service: EventsService, receiver: Receiver, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 25)
    await Promise.all(
      many('', Math.min(25, left)).map((n) =>
        subscribe(service, { address: `${receiver.url}?${left}-${n}` }),
      ),
    );
}

/** Replaces the dispatcher of a service by one whose attempts never time out and have a connection each. */
async function hangForever({ context }: EventsService, slowMs: number) {
  await context.dispatcher.close();
  const timing = { ...TIMING, attemptMs: HOUR, leaseMs: 2 * HOUR, slowMs };
  const outbound = createOutbound({ allowedNetworks: [], allowPrivateNetwork: true, connections: 3000 });
  const dispatcher = new Dispatcher(context, { outbound, scheduleMs: [1], timing });
  return {
    start: () => dispatcher.start(),
    async [Symbol.asyncDispose]() {
      await dispatcher.close();
      await outbound.close();
    },
  };
}

test.each([
  ['healthy queues', HOUR, 1000],
  // Half of the capacity of healthy queues is used too, because no more attempts count as slow.
  ['degraded queues', 3 * SECOND, 2000],
])('one user with hanging addresses may use half of the capacity of %s', async (_, slowMs, most) => {
  await using service = await startEvents(QUIET);
  await using dispatcher = await hangForever(service, slowMs);
  dispatcher.start();
  await using hanging = await startReceiver();
  await using receiver = await startReceiver();
  hanging.answer = () => {};
  await subscribeMany(service, hanging, 450);
  const other = await another(service);
  await subscribe(other, { address: receiver.url });

  await created(service, many('h', 5));
  await until(() => hanging.open >= most);
  await scanned(service);
  expect(hanging.open).toBe(most);
  await created(other, ['a']);
  await receiver.arrived(1);
  // The queue of the other user is degraded from here on.
  receiver.answer = (_one, res) => void res.writeHead(500).end();
  await created(other, ['b']);
  await receiver.arrived(2);
  receiver.answer = (_one, res) => void res.writeHead(200).end();
  await created(other, ['c']);
  await receiver.arrived(4);
  expect(hanging.open).toBe(most);
});

test('the total size of deliveries in memory is limited', async () => {
  await using service = await startEvents(QUIET);
  const { context } = service;
  await using receiver = await startReceiver();
  for (const n of many('', 8))
    await subscribe(service, { address: `${receiver.url}?${n}`, ratePerSecond: 100 });
  await created(service, ['warm']);
  await receiver.arrived(8);
  const held: ServerResponse[] = [];
  receiver.answer = (_, res) => void held.push(res);

  const source = await context.db.selectFrom('sources').selectAll().executeTakeFirstOrThrow();
  const note = 'x'.repeat(4 * 1024 * 1024);
  for (const id of many('large', 6))
    await context.db.transaction().execute((tx) =>
      publish(tx, context, {
        source: { sourceId: source.source_id, environment: source.environment },
        events: [{ eventScope: 'commerce/orders', event: 'created', recordId: id, body: { id, note } }],
      }),
    );
  context.dispatcher.wake();
  let most = 0;
  const measure = async () => {
    const { leased } = await context.db
      .selectFrom('deliveries')
      .select((e) => e.fn.countAll<number>().as('leased'))
      .where('status', '=', 'waiting')
      .where('lease_token', 'is not', null)
      .executeTakeFirstOrThrow();
    most = Math.max(most, Number(leased));
  };
  await until(() => held.length >= 8);
  await scanned(service);
  await measure();
  expect(most).toBeGreaterThanOrEqual(8);
  receiver.answer = (_, res) => res.writeHead(200).end();
  for (const res of held) res.writeHead(200).end();
  await until(async () => {
    await measure();
    return receiver.received.length >= 8 + 48;
  });
  // One user may hold 64 MiB, and each claim returns at least one delivery.
  expect(most).toBeLessThanOrEqual(16 + 8);
});

test('a drained queue is claimed again before all others have begun', async () => {
  await using service = await startEvents(QUIET);
  await using receiver = await startReceiver();
  await subscribeMany(service, receiver, 200);
  await service.context.dispatcher.close();
  await created(service, many('o', 8));

  // All queues are new: each claims five deliveries at first, and more when they are done.
  await using anew = await startService({ env: { ...service.env, ...QUIET.env } });
  await receiver.arrived(200 * 8);
  const first = receiver.received[0]?.path;
  const done = receiver.received.findLastIndex(({ path }) => path === first);
  const begun = new Set(receiver.received.slice(0, done).map(({ path }) => path));
  expect(begun.size).toBeLessThan(150);
  const waiting = anew.context.db.selectFrom('deliveries').select('status').where('status', '=', 'waiting');
  await until(async () => (await waiting.executeTakeFirst()) === undefined);
});
