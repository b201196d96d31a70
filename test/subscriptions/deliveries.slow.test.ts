import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { closeListener, takeEvents, openListener } from '../../src/subscriptions/listener.ts';
import { publish } from '../../src/outbox/publish.ts';
import type { NewEvent } from '../../src/outbox/event.ts';
import { deleteOldEvents } from '../../src/outbox/event-retention.ts';
import { isoTime } from '../../src/lib/clock.ts';
import { nextMillisecond } from '../support/clock.ts';
import { created, startEvents, subscribe, type EventsService } from '../support/events.ts';
import { until } from '../support/until.ts';
import { startReceiver, verified, type Receiver } from '../support/receiver.ts';

let service: EventsService;
let receiver: Receiver;
beforeAll(async () => {
  service = await startEvents({ env: { GATEHOUSE_RETRY_SCHEDULE: '0.1,0.1' } });
});
afterAll(() => service.stop());
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  await receiver[Symbol.asyncDispose]();
});

const deliveries = (subscriptionId: string, query = '') =>
  service.call('GET', `/webhooks/${subscriptionId}/deliveries${query}`);
const settled = (subscriptionId: string, status: string) =>
  until(async () => (await deliveries(subscriptionId)).at('data.0.status') === status);

test('a replay sends a successful delivery again with its id and number', async () => {
  const { subscriptionId, secret } = await subscribe(service, { address: receiver.url });
  await created(service, ['again']);
  await settled(subscriptionId, 'succeeded');
  const deliveryId = (await deliveries(subscriptionId)).text('data.0.deliveryId');
  const replay = (id: string) => service.call('POST', `/webhooks/${subscriptionId}/deliveries/${id}/replay`);
  expect(await replay(deliveryId)).toMatchObject({ status: 202, body: { deliveryId } });
  const [first, second] = await receiver.arrived(2);
  if (!first || !second) throw new Error('nothing arrived');
  expect(verified(secret, second)).toEqual(verified(secret, first));
  for (const name of ['webhook-id', 'x-svc-sequence']) expect(second.headers[name]).toBe(first.headers[name]);
  await until(async () => (await deliveries(subscriptionId)).at('data.0.attemptCount') === 2);
  expect((await deliveries(subscriptionId)).at('data.0.attempts')).toMatchObject([
    { number: 1, status: 200, error: null, excerpt: null },
    { number: 2, status: 200, error: null, excerpt: null },
  ]);
  expect((await replay('msg_0000000000000000000000')).text('code')).toBe('delivery_not_found');
  await service.call('DELETE', `/webhooks/${subscriptionId}`);
});

test('the delivery log shows errors and excerpts without secrets, by status', async () => {
  const { subscriptionId } = await subscribe(service, {
    address: receiver.url,
    headers: { authorization: 'Bearer log-canary-42' },
  });
  receiver.answer = ({ headers }, res) => res.writeHead(503).end(`no: ${headers['authorization']}`);
  await created(service, ['o1']);
  await settled(subscriptionId, 'dead');
  const dead = await deliveries(subscriptionId, '?status=dead');
  expect((await service.call('GET', `/webhooks/${subscriptionId}`)).at('deadDeliveries')).toBe(1);
  expect(dead.at('data.0')).toMatchObject({
    subscriptionId,
    scope: 'commerce/orders',
    event: 'created',
    recordId: 'o1',
    sequence: 1,
    attemptCount: 3,
    lastStatus: 503,
    lastError: 'status',
    nextAttemptAt: null,
  });
  expect(dead.text('data.0.attempts.0.excerpt')).toMatch(/^no: /);
  expect(JSON.stringify(dead.body)).not.toContain('log-canary-42');
  expect((await deliveries(subscriptionId, '?status=succeeded')).at('data')).toEqual([]);
  expect((await deliveries(subscriptionId, '?status=lost')).at('details.faults.0.field')).toBe('status');
  await service.call('DELETE', `/webhooks/${subscriptionId}`);
});

test('running and unstarted deliveries are listed as waiting, newest first', async () => {
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  const held: (() => void)[] = [];
  receiver.answer = (_, res) => void held.push(() => res.writeHead(200).end());
  const ids = Array.from({ length: 12 }, (_, n) => `o${n + 1}`);
  await created(service, ids);
  await receiver.arrived(5);
  const kinds = await service.context.db
    .selectFrom('deliveries')
    .select('offered')
    .distinct()
    .where('subscription_id', '=', subscriptionId)
    .execute();
  expect(kinds).toHaveLength(2);
  const listed: unknown[] = [];
  for (let cursor: string | undefined, pages = 0; pages < 3; pages++) {
    const page = await deliveries(
      subscriptionId,
      `?status=waiting&limit=5${cursor === undefined ? '' : `&cursor=${cursor}`}`,
    );
    for (let n = 0; page.at(`data.${n}`) !== undefined; n++) listed.push(page.at(`data.${n}.sequence`));
    if (pages < 2) cursor = page.text('pagination.nextCursor');
  }
  expect(listed).toEqual(ids.map((_, n) => 12 - n));
  receiver.answer = (_, res) => res.writeHead(200).end();
  for (const answer of held) answer();
  await until(async () => (await deliveries(subscriptionId, '?status=waiting')).at('data.0') === undefined);
  expect((await deliveries(subscriptionId, '?status=succeeded')).at('data')).toHaveLength(12);
  await service.call('DELETE', `/webhooks/${subscriptionId}`);
});

test('a refused delivery is replayed to the new address of its subscription', async () => {
  const gone = await startReceiver();
  const address = gone.url;
  await gone[Symbol.asyncDispose]();
  const { subscriptionId } = await subscribe(service, { address });
  await created(service, ['moved']);
  await settled(subscriptionId, 'dead');
  expect((await deliveries(subscriptionId)).at('data.0.lastError')).toBe('refused');
  const moved = await service.call('PUT', `/webhooks/${subscriptionId}`, { body: { address: receiver.url } });
  expect(moved.status).toBe(200);
  const deliveryId = (await deliveries(subscriptionId)).text('data.0.deliveryId');
  await service.call('POST', `/webhooks/${subscriptionId}/deliveries/${deliveryId}/replay`);
  const [one] = await receiver.arrived(1);
  expect(one?.headers['webhook-id']).toBe(deliveryId);
  await service.call('DELETE', `/webhooks/${subscriptionId}`);
});

test('a recovery ends at the given time', async () => {
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  receiver.answer = (_, res) => res.writeHead(500).end();
  await created(service, ['before']);
  await settled(subscriptionId, 'dead');
  const { clock } = service.context;
  const between = isoTime(await nextMillisecond(clock));
  await nextMillisecond(clock);
  await created(service, ['after']);
  await settled(subscriptionId, 'dead');
  receiver.answer = (_, res) => res.writeHead(200).end();
  const seen = receiver.received.length;
  const recover = (body: object) => service.call('POST', `/webhooks/${subscriptionId}/recover`, { body });
  expect((await recover({ since: between, until: between })).at('details.faults.0.field')).toBe('until');
  expect((await recover({ since: '2020-01-01T00:00:00Z', until: between })).at('recovered')).toBe(1);
  await receiver.arrived(seen + 1);
  expect(JSON.parse(receiver.received.at(-1)?.body ?? '').id).toBe('before');
  expect((await recover({ since: between })).at('recovered')).toBe(1);
  expect((await recover({ since: 'yesterday' })).at('details.faults.0.field')).toBe('since');
  await service.call('DELETE', `/webhooks/${subscriptionId}`);
});

test('a recovery omits events before the subscription and backfills of others', async () => {
  const { context } = service;
  const recover = (subscriptionId: string) =>
    service.call('POST', `/webhooks/${subscriptionId}/recover`, { body: { since: '2020-01-01T00:00:00Z' } });
  const first = await subscribe(service, { address: `${receiver.url}?first` });
  await created(service, ['before']);
  await receiver.arrived(1);
  await nextMillisecond(context.clock);
  const second = await subscribe(service, { address: `${receiver.url}?second` });
  expect((await recover(second.subscriptionId)).at('recovered')).toBe(0);

  const { source_id: sourceId } = await context.db
    .selectFrom('subscriptions')
    .select('source_id')
    .where('subscription_id', '=', first.subscriptionId)
    .executeTakeFirstOrThrow();
  if (sourceId === null) throw new Error('there is no source');
  const old: NewEvent = { eventScope: 'commerce/orders', event: 'created', recordId: 'old', body: {} };
  await context.db.transaction().execute((tx) =>
    publish(tx, context, {
      source: { sourceId, environment: 'development' },
      events: [old],
      options: {
        only: first.subscriptionId,
        marks: { 'x-svc-backfill': 'only' },
      },
    }),
  );
  context.dispatcher.wake();
  await receiver.arrived(2);
  expect((await recover(second.subscriptionId)).at('recovered')).toBe(0);

  // It missed the events that were published while it was disabled.
  const status = async (to: 'active' | 'disabled') =>
    context.db
      .updateTable('subscriptions')
      .set({ status: to })
      .where('subscription_id', '=', second.subscriptionId)
      .execute();
  await status('disabled');
  await created(service, ['missed']);
  await status('active');
  expect((await recover(second.subscriptionId)).at('recovered')).toBe(1);

  await service.call('DELETE', `/webhooks/${first.subscriptionId}`);
  expect((await recover(second.subscriptionId)).at('recovered')).toBe(0);
  await service.call('DELETE', `/webhooks/${second.subscriptionId}`);
});

test('recovering and deleting many deliveries does not block other requests', async () => {
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  await manyEvents(subscriptionId);
  const recover = () =>
    service.call('POST', `/webhooks/${subscriptionId}/recover`, { body: { since: '1970-01-01T00:00:00Z' } });
  expect(await turnsOf(recover)).toEqual({ status: 202, many: true });
  await deliveredMany(subscriptionId);
  expect(await turnsOf(() => service.call('DELETE', `/webhooks/${subscriptionId}`))).toEqual({
    status: 200,
    many: true,
  });
  expect(await service.context.db.selectFrom('deliveries').select('delivery_id').limit(1).execute()).toEqual(
    [],
  );
});

test('deleting operator events and listeners does not block other requests', async () => {
  const { context } = service;
  const { db } = context;
  await service.call('PUT', '/api/settings', { body: { eventsAddress: receiver.url } });
  const operatorId = (await service.call('GET', '/api/settings')).text('eventsSubscriptionId');
  const listener = await openListener(context, { environment: 'development' });
  await manyEvents(operatorId);
  await deliveredMany(operatorId);
  const end = () => service.call('PUT', '/api/settings', { body: { eventsAddress: null } });
  expect(await turnsOf(end)).toEqual({ status: 200, many: true });
  await manyEvents(listener.subscriptionId);
  await deliveredMany(listener.subscriptionId);
  const close = () => closeListener(context, listener.subscriptionId).then(() => ({ status: 200 }));
  expect(await turnsOf(close)).toEqual({ status: 200, many: true });
  for (const table of ['deliveries', 'subscriptions'] as const)
    expect(await db.selectFrom(table).selectAll().limit(1).execute()).toEqual([]);
});

test('deleting a connection deletes its subscriptions and aborts attempts', async () => {
  const { db } = service.context;
  receiver.answer = () => {};
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  const before = receiver.received.length;
  await created(service, ['o1']);
  await receiver.arrived(before + 1);
  await manyEvents(subscriptionId);
  await deliveredMany(subscriptionId);
  const path = `/users/${service.userId}/credentials/${service.connectionId}`;
  const headers = { 'x-svc-userid': service.userId };
  expect(await turnsOf(() => service.call('DELETE', path, { headers }))).toEqual({ status: 200, many: true });
  expect((await service.call('GET', `/webhooks/${subscriptionId}`)).text('code')).toBe(
    'subscription_not_found',
  );
  await until(() => receiver.open === 0);
  expect(service.logged.join('')).not.toContain('"level":50');
  await deleteOldEvents(service.context);
  for (const table of ['sources', 'seen', 'deliveries', 'events'] as const)
    expect(await db.selectFrom(table).selectAll().limit(1).execute()).toEqual([]);
});

test('a test event of a listener reaches each listener once', async () => {
  const { context } = service;
  const listener = await openListener(context, { environment: 'development' });
  const other = await openListener(context, { environment: 'development' });
  const tested = await service.call('POST', `/webhooks/${listener.subscriptionId}/test`);
  const deliveryId = tested.text('deliveryId');
  expect(await takeEvents(context, listener, 10)).toMatchObject([{ deliveryId, event: 'test' }]);
  expect(await takeEvents(context, other, 10)).toMatchObject([{ event: 'test' }]);
  for (const { subscriptionId } of [listener, other]) await closeListener(context, subscriptionId);
});

/** Inserts old events without deliveries. */
async function manyEvents(subscriptionId: string): Promise<void> {
  const { db } = service.context;
  const { source_id: sourceId } = await db
    .selectFrom('subscriptions')
    .select('source_id')
    .where('subscription_id', '=', subscriptionId)
    .executeTakeFirstOrThrow();
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
    insert into events select ${`evt_${subscriptionId}_`} || i, 'development', ${sourceId}, 'commerce/orders', 'updated', 'r', '{}', i from n`.execute(
    db,
  );
}

async function deliveredMany(subscriptionId: string): Promise<void> {
  await sql`insert into deliveries (delivery_id, subscription_id, event_id, sequence, status, next_at, created_at, updated_at)
    select 'msg_' || event_id, ${subscriptionId}, event_id, created_at, 'succeeded', 0, 0, 0 from events
    where event_id like ${`evt_${subscriptionId}_%`}`.execute(service.context.db);
}

/** Returns whether a request yielded to the event loop more often than the two or three times it needs itself. */
async function turnsOf(
  request: () => Promise<{ status: number }>,
): Promise<{ status: number; many: boolean }> {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const { status } = await request();
  clearInterval(timer);
  return { status, many: turns > 6 };
}
