import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { publish } from '../../src/outbox/publish.ts';
import { openStore } from '../../src/store/open-database.ts';
import { created, startEvents, subscribe } from '../support/events.ts';
import { until } from '../support/until.ts';
import { lockAwaited } from '../support/polls.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService } from '../support/service.ts';

/* Concurrent processes and transactions, which wait for each other's row locks only on PostgreSQL. */

const many = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${name}${n}`);

test('two processes that receive a 410 at the same time do not deadlock', async () => {
  await using first = await startEvents({ kind: 'postgres' });
  await using beside = await startService({ env: first.env });
  const second = { ...beside, userId: first.userId, connectionId: first.connectionId };
  await using receiver = await startReceiver();
  const held: ServerResponse[] = [];
  receiver.answer = (_, res) => void held.push(res);
  for (let round = 0; round < 6; round++) {
    const { subscriptionId } = await subscribe(first, { address: `${receiver.url}?${round}` });
    const path = `/webhooks/${subscriptionId}`;
    await Promise.all([created(first, many('first', 5)), created(second, many('second', 5))]);
    await until(() => held.length >= 10);
    for (const res of held.splice(0)) res.writeHead(410).end();
    await until(async () => (await first.call('GET', path)).at('status') === 'disabled');
    await first.call('DELETE', path);
  }
  const logged = [...first.logged, ...second.logged].join('');
  expect(logged).not.toContain('deadlock');
  expect(logged).not.toContain('outcome not stored');
});

test('a stop releases deliveries that wait for a slot before the store closes', async () => {
  await using service = await startEvents({ kind: 'postgres' });
  await using receiver = await startReceiver();
  for (let n = 0; n < 60; n++)
    await subscribe(service, { address: `${receiver.url}?${n}`, ratePerSecond: 2 });
  await created(service, many('o', 10));
  await receiver.arrived(60);
  await service.context.close();
  await using store = await openStore(readConfig(service.env).database);
  const rows = await store.db
    .selectFrom('deliveries')
    .select('lease_token')
    .where('status', '=', 'waiting')
    .execute();
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.filter((row) => row.lease_token !== null)).toEqual([]);
});

test('a delivery replayed while its subscription ends does not wait forever', async () => {
  await using service = await startEvents({ kind: 'postgres', env: { GATEHOUSE_RETRY_SCHEDULE: '0.05' } });
  await using receiver = await startReceiver();
  receiver.answer = (_, res) => res.writeHead(500).end();
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  const path = `/webhooks/${subscriptionId}`;
  const newest = async () => service.call('GET', `${path}/deliveries`);
  await created(service, ['o1']);
  await until(async () => (await newest()).at('data.0.status') === 'dead');
  const deliveryId = (await newest()).text('data.0.deliveryId');
  const ways = [
    () => service.call('POST', `${path}/deliveries/${deliveryId}/replay`),
    () => service.call('POST', `${path}/recover`, { body: { since: '2020-01-01T00:00:00Z' } }),
  ];
  for (const sendAgain of ways) {
    const ended = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const ending = service.context.db.transaction().execute(async (tx) => {
      await tx
        .updateTable('subscriptions')
        .set({ status: 'disabled' })
        .where('subscription_id', '=', subscriptionId)
        .execute();
      held.resolve();
      await ended.promise;
    });
    await held.promise;
    const answer = sendAgain();
    await lockAwaited(service);
    ended.resolve();
    await ending;
    expect((await answer).at('code')).toBe('subscription_disabled');
    expect((await newest()).at('data.0.status')).toBe('dead');
    await service.call('POST', `${path}/enable`);
  }
});

test('a subscription is deleted while its deliveries are locked in another order', async () => {
  await using service = await startEvents({ kind: 'postgres' });
  await using receiver = await startReceiver();
  const { db } = service.context;
  receiver.answer = () => {};
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  await created(service, ['o1', 'o2', 'o3']);
  await receiver.arrived(3);
  const deletion = Promise.withResolvers<Awaited<ReturnType<typeof service.call>>>();
  await db.transaction().execute(async (tx) => {
    const write = (...sequences: number[]) =>
      tx
        .updateTable('deliveries')
        .set({ updated_at: 1 })
        .where('subscription_id', '=', subscriptionId)
        .where('sequence', 'in', sequences)
        .execute();
    await write(2);
    void service.call('DELETE', `/webhooks/${subscriptionId}`).then(deletion.resolve, deletion.reject);
    await lockAwaited(service);
    await write(1, 3);
  });
  expect((await deletion.promise).status).toBe(200);
  expect((await service.call('GET', `/webhooks/${subscriptionId}`)).status).toBe(404);
});

test('backfills of two subscriptions to one source do not deadlock', async () => {
  await using service = await startEvents({ kind: 'postgres' });
  const { context } = service;
  const subscribers = await Promise.all(
    ['one', 'two'].map((name) => subscribe(service, { address: `https://127.0.0.1:9/${name}` })),
  );
  const source = await context.db.selectFrom('sources').selectAll().executeTakeFirstOrThrow();
  let holding = 0;
  const backfill = ({ subscriptionId }: { subscriptionId: string }): Promise<number> =>
    context.db.transaction().execute(async (tx) => {
      await tx
        .selectFrom('subscriptions')
        .select('backfill')
        .where('subscription_id', '=', subscriptionId)
        .forUpdate()
        .execute();
      holding++;
      await until(() => holding === subscribers.length);
      const event = {
        eventScope: 'commerce/orders',
        event: 'created',
        recordId: 'o1',
        body: { id: 'o1' },
      } as const;
      const from = { sourceId: source.source_id, environment: source.environment };
      return publish(tx, context, { source: from, events: [event], options: { only: subscriptionId } });
    });
  expect(await Promise.all(subscribers.map(backfill))).toEqual([1, 1]);
});

test('two concurrent first settings of the events address both succeed', async () => {
  await using service = await startEvents({ kind: 'postgres' });
  const { db } = service.context;
  const set = (path: string) =>
    service.call('PUT', '/api/settings', { body: { eventsAddress: `http://127.0.0.1:9/${path}` } });
  await set('first');
  const row = await db.selectFrom('subscriptions').selectAll().executeTakeFirstOrThrow();
  await service.call('PUT', '/api/settings', { body: { eventsAddress: null } });
  const ended = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const first = db.transaction().execute(async (tx) => {
    await tx.insertInto('subscriptions').values(row).execute();
    held.resolve();
    await ended.promise;
  });
  await held.promise;
  const second = set('second');
  await lockAwaited(service);
  ended.resolve();
  await first;
  expect(await second).toMatchObject({
    status: 200,
    body: { eventsAddress: 'http://127.0.0.1:9/second', eventsSubscriptionId: row.subscription_id },
  });
  expect((await second).at('eventsSecret')).toBeUndefined();
});
