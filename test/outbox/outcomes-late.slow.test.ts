import type { ServerResponse } from 'node:http';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { cancelLeftovers } from '../../src/outbox/cancel-deliveries.ts';
import { Dispatcher } from '../../src/outbox/dispatcher.ts';
import { newSigningSecret } from '../../src/outbox/signature.ts';
import { sealBinding } from '../../src/outbox/delivery-target.ts';
import { HOUR } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { created, startEvents, subscribe, type EventsService } from '../support/events.ts';
import { until } from '../support/until.ts';
import { scanned } from '../support/polls.ts';
import { startReceiver } from '../support/receiver.ts';

/* Deliveries while the store, a lease, the clock or a sealed secret fails. */

const many = (count: number): string[] => Array.from({ length: count }, (_, n) => `o${n}`);

/** Makes the store reject successes of a subscription until one outcome could not be stored. */
async function refuseOnce(service: EventsService, subscriptionId: string, publish: () => Promise<unknown>) {
  const { db } = service.context;
  await sql`create trigger refused before update on deliveries
    when new.status = 'succeeded' and new.subscription_id = ${sql.lit(subscriptionId)} and new.sequence < 4
    begin select raise(abort, 'no room'); end`.execute(db);
  await publish();
  await until(() => service.logged.join('').includes('outcome not stored'));
  await sql`drop trigger refused`.execute(db);
}

test('deliveries blocked by an unstored outcome are sent when it is stored', async () => {
  await using service = await startEvents();
  await using receiver = await startReceiver();
  receiver.answer = (_, res) => void setTimeout(() => res.writeHead(200).end(), 100);
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  await created(service, ['first']);
  await until(() => service.logged.join('').includes('"delivery"'));
  await refuseOnce(service, subscriptionId, () => created(service, many(60)));
  expect(await receiver.arrived(61)).toHaveLength(61);
});

test('an ordered subscription continues after an unstored outcome of another one', async () => {
  await using service = await startEvents();
  await using ordered = await startReceiver();
  await using other = await startReceiver();
  ordered.answer = (_, res) => void setTimeout(() => res.writeHead(200).end(), 50);
  const { subscriptionId } = await subscribe(service, { address: other.url, scope: 'commerce/products' });
  await subscribe(service, { address: ordered.url, ordered: true });
  await created(service, many(30));
  await ordered.arrived(2);
  await refuseOnce(service, subscriptionId, () => created(service, ['p1'], { scope: 'commerce/products' }));
  expect(await ordered.arrived(30)).toHaveLength(30);
});

/** Runs an attempt whose lease expires while another process makes the first attempt, which fails. */
async function overtaken(service: EventsService, more: { attempts: number }) {
  await using receiver = await startReceiver();
  const { db, clock } = service.context;
  const held: ServerResponse[] = [];
  receiver.answer = (_, res) => void held.push(res);
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  await created(service, ['o1']);
  await receiver.arrived(1);
  const { delivery_id: deliveryId } = await db
    .selectFrom('deliveries')
    .select('delivery_id')
    .where('subscription_id', '=', subscriptionId)
    .executeTakeFirstOrThrow();
  await db
    .insertInto('delivery_attempts')
    .values({ delivery_id: deliveryId, number: 1, at: clock.now(), duration_ms: 1, status: 502 })
    .execute();
  await db
    .updateTable('deliveries')
    .set({ ...more, step: more.attempts, lease_token: null, offered: 0, next_at: clock.now() })
    .where('delivery_id', '=', deliveryId)
    .execute();
  const lease = () =>
    db
      .selectFrom('deliveries')
      .select('lease_token')
      .where('delivery_id', '=', deliveryId)
      .executeTakeFirstOrThrow();
  await until(async () => (await lease()).lease_token !== null);
  // The dispatcher has processed the claim.
  await scanned(service);
  for (const res of held) res.writeHead(500).end('late');
  await until(async () => (await lease()).lease_token === null);
  return (await service.call('GET', `/webhooks/${subscriptionId}/deliveries`)).at('data.0');
}

test('an attempt that outlived its lease counts after those of other processes', async () => {
  await using service = await startEvents({ env: { GATEHOUSE_RETRY_SCHEDULE: '3600,3600,3600' } });
  expect(await overtaken(service, { attempts: 1 })).toMatchObject({
    attemptCount: 2,
    attempts: [
      { number: 1, status: 502 },
      { number: 2, status: 500, excerpt: 'late' },
    ],
  });
});

test('an outcome whose attempt number is taken does not fail the commit', async () => {
  await using service = await startEvents({ env: { GATEHOUSE_RETRY_SCHEDULE: '3600,3600,3600' } });
  expect(await overtaken(service, { attempts: 0 })).toMatchObject({
    attemptCount: 1,
    attempts: [{ number: 1, status: 502 }],
  });
  expect(service.logged.join('')).not.toContain('outcome not stored');
});

test('deliveries in memory stay within the limit with many subscriptions', async () => {
  await using service = await startEvents();
  const { context } = service;
  const { db, keys, clock } = context;
  const { subscriptionId } = await subscribe(service, { address: 'http://127.0.0.1:9/' });
  await context.dispatcher.close();
  const row = await db.selectFrom('subscriptions').selectAll().executeTakeFirstOrThrow();
  const now = clock.now();
  await db.transaction().execute(async (tx) => {
    for (let n = 0; n < 2800; n++) {
      const id = `sub_${n}`;
      const sealed = keys.seal(newSigningSecret(), sealBinding(id, 'secret'));
      const copy = { ...row, subscription_id: id, address: `${row.address}${n}`, secret_sealed: sealed };
      await tx.insertInto('subscriptions').values(copy).execute();
    }
    await sql`insert into events (event_id, environment, source_id, scope, event, record_id, body, created_at)
      select 'evt_' || value, 'development', ${row.source_id}, ${row.scope}, 'created', 'o', '{}', ${now}
      from json_each('[1,2,3,4,5]')`.execute(tx);
    await sql`insert into deliveries
        (delivery_id, subscription_id, event_id, sequence, status, next_at, created_at, updated_at)
      select subscription_id || event_id, subscription_id, event_id, 1, 'waiting', ${now}, ${now}, ${now}
      from subscriptions, events where subscription_id <> ${subscriptionId}`.execute(tx);
  });
  let begun = 0;
  const hang = () => new Promise<never>(() => void begun++);
  const outbound = { ...context.outbound, request: hang };
  new Dispatcher(context, { outbound, scheduleMs: [1000] }).start();
  const inMemory = async () => {
    const { rows } = await sql<{ count: number }>`select count(*) as count from deliveries
      where lease_token is not null`.execute(db);
    return (rows[0]?.count ?? 0) - begun;
  };
  // Half of the capacity, because all subscriptions belong to one user.
  let most = 0;
  await until(async () => (most = await inMemory()) > 4000);
  for (let before = -1; most !== before;) {
    await scanned(service, 1);
    before = most;
    most = Math.max(most, await inMemory());
  }
  expect(most).toBeLessThanOrEqual(5000);
}, 120_000);

test('enabling a subscription first cancels the deliveries that still wait', async () => {
  await using service = await startEvents();
  const { db, clock } = service.context;
  await using receiver = await startReceiver();
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  const path = `/webhooks/${subscriptionId}`;
  const { source_id: sourceId } = await db
    .selectFrom('sources')
    .select('source_id')
    .executeTakeFirstOrThrow();
  const later = clock.now() + HOUR;
  await sql`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 50000)
    insert into events (event_id, environment, source_id, scope, event, record_id, body, created_at)
    select 'evt_' || n, 'development', ${sourceId}, 'commerce/orders', 'created', 'o', '{}', ${later}
    from numbers`.execute(db);
  await sql`insert into deliveries
      (delivery_id, subscription_id, event_id, sequence, status, next_at, created_at, updated_at)
    select 'msg_' || event_id, ${subscriptionId}, event_id, 1000, 'waiting', ${later}, ${later}, ${later}
    from events`.execute(db);
  const count = async (status: 'waiting' | 'cancelled') => {
    const { rows } = await sql<{ count: number }>`select count(*) as count from deliveries
      where status = ${status}`.execute(db);
    return rows[0]?.count;
  };
  receiver.answer = (_, res) => res.writeHead(410).end();
  await created(service, ['gone']);
  await until(async () => (await service.call('GET', path)).at('status') === 'disabled');
  expect(await count('waiting')).toBeGreaterThan(0);

  receiver.answer = (_, res) => res.writeHead(200).end();
  expect((await service.call('POST', `${path}/enable`)).at('status')).toBe('active');
  expect(await count('cancelled')).toBe(50_000);
  await created(service, ['anew']);
  await receiver.arrived(2);
  await until(async () => (await count('waiting')) === 0);
  expect(await count('cancelled')).toBe(50_000);
});

test('a 410 disables a subscription whose failures began in the future', async () => {
  await using service = await startEvents();
  await using receiver = await startReceiver();
  receiver.answer = (_, res) => res.writeHead(410).end();
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  await service.context.db
    .updateTable('subscriptions')
    .set({ failing_since: service.context.clock.now() + HOUR })
    .where('subscription_id', '=', subscriptionId)
    .execute();
  await created(service, ['o1']);
  await until(
    async () =>
      (await service.call('GET', `/webhooks/${subscriptionId}/deliveries`)).at('data.0.status') === 'dead',
  );
  expect((await service.call('GET', `/webhooks/${subscriptionId}`)).at('status')).toBe('disabled');
});

test('a rate continues after the clock is set back, and Retry-After holds', async () => {
  const clock = manualClock();
  await using service = await startEvents({ clock });
  const { context } = service;
  await using receiver = await startReceiver();
  await subscribe(service, { address: receiver.url, ratePerSecond: 1 });
  await created(service, ['o1']);
  await receiver.arrived(1);
  clock.advance(-HOUR);
  receiver.answer = (_, res) => res.writeHead(429, { 'retry-after': '3600' }).end();
  await created(service, ['o2']);
  await receiver.arrived(2);

  // A new dispatcher knows the pause only from the store.
  await context.dispatcher.close();
  clock.advance(HOUR / 2);
  const { outbound } = context;
  const other = new Dispatcher(context, { outbound, scheduleMs: [1000] });
  onTestFinished(() => other.close());
  other.start();
  await created(service, ['o3']);
  await scanned(service);
  expect(receiver.received).toHaveLength(2);
  clock.advance(HOUR / 2);
  expect(await receiver.arrived(3)).toHaveLength(3);
});

test('a sweep and a new events address cancel leftover deliveries', async () => {
  await using service = await startEvents();
  const { db, clock } = service.context;
  await using before = await startReceiver();
  await using after = await startReceiver();
  const set = (eventsAddress: string) => service.call('PUT', '/api/settings', { body: { eventsAddress } });
  await set(before.url);
  before.answer = (_, res) => res.writeHead(410).end();
  const { subscription_id: subscriptionId } = await db
    .selectFrom('subscriptions')
    .select('subscription_id')
    .executeTakeFirstOrThrow();
  await service.call('POST', `/webhooks/${subscriptionId}/test`);
  const path = `/webhooks/${subscriptionId}`;
  await until(async () => (await service.call('GET', path)).at('status') === 'disabled');
  // The state that a process leaves when it stops during the cancelling.
  const left = { status: 'waiting' as const, next_at: clock.now(), lease_token: null };
  for (const finish of [() => cancelLeftovers(service.context), () => set(after.url)]) {
    await db.updateTable('deliveries').set(left).execute();
    await finish();
    const statuses = await db.selectFrom('deliveries').select('status').distinct().execute();
    expect(statuses).toEqual([{ status: 'cancelled' }]);
  }
});

test('a subscription whose secret cannot be opened does not stop others', async () => {
  await using service = await startEvents();
  const { db } = service.context;
  await using receiver = await startReceiver();
  const broken = await subscribe(service, { address: `${receiver.url}?broken` });
  for (const n of [1, 2, 3])
    await subscribe(service, {
      address: `${receiver.url}?${n}`,
      scope: 'commerce/products',
      ratePerSecond: 10,
    });
  await service.context.dispatcher.close();
  await created(service, ['o1']);
  await created(service, ['p1'], { scope: 'commerce/products' });
  await db
    .updateTable('subscriptions')
    .set({ secret_sealed: 'broken' })
    .where('subscription_id', '=', broken.subscriptionId)
    .execute();
  const dispatcher = new Dispatcher(service.context, {
    outbound: service.context.outbound,
    scheduleMs: [1000],
  });
  onTestFinished(() => dispatcher.close());
  dispatcher.start();
  const paths = (await receiver.arrived(3)).map(({ path }) => path);
  expect(paths.toSorted()).toEqual(['/hook?1', '/hook?2', '/hook?3']);
  expect(service.logged.join('')).toContain('subscription not opened');
});

test('a delivery waits when its secret cannot be opened, and others are sent', async () => {
  await using service = await startEvents();
  const { db } = service.context;
  await using receiver = await startReceiver();
  const broken = await subscribe(service, { address: `${receiver.url}?broken` });
  await subscribe(service, { address: `${receiver.url}?whole` });
  await db
    .updateTable('subscriptions')
    .set({ secret_sealed: 'broken' })
    .where('subscription_id', '=', broken.subscriptionId)
    .execute();
  await created(service, ['o1']);
  expect((await receiver.arrived(1)).map(({ path }) => path)).toEqual(['/hook?whole']);
  const waiting = await db
    .selectFrom('deliveries')
    .select(['subscription_id', 'sequence', 'status', 'lease_token'])
    .where('subscription_id', '=', broken.subscriptionId)
    .execute();
  expect(waiting).toEqual([
    { subscription_id: broken.subscriptionId, sequence: 1, status: 'waiting', lease_token: null },
  ]);
});

test('a 410 stops no others when the operator secret cannot be opened', async () => {
  await using service = await startEvents();
  const { db } = service.context;
  await using receiver = await startReceiver();
  receiver.answer = ({ path }, res) => res.writeHead(path.endsWith('gone') ? 410 : 200).end();
  const gone = await subscribe(service, { address: `${receiver.url}?gone` });
  await subscribe(service, { address: `${receiver.url}?whole`, scope: 'commerce/products' });
  await service.call('PUT', '/api/settings', { body: { eventsAddress: `${receiver.url}?operator` } });
  await db
    .updateTable('subscriptions')
    .set({ secret_sealed: 'broken' })
    .where('kind', '=', 'operator')
    .execute();
  await created(service, ['o1']);
  const path = `/webhooks/${gone.subscriptionId}`;
  await until(async () => (await service.call('GET', path)).at('status') === 'disabled');
  await created(service, ['p1'], { scope: 'commerce/products' });
  const paths = (await receiver.arrived(2)).map(({ path }) => path);
  expect(paths).toEqual(['/hook?gone', '/hook?whole']);
  const told = await db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.event_id', 'deliveries.event_id')
    .select(['deliveries.status', 'events.event'])
    .where('events.scope', '=', 'operator')
    .execute();
  expect(told).toEqual([{ status: 'waiting', event: 'subscription.disabled' }]);
});
