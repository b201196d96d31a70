import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { HOUR } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { created, startEvents, subscribe } from '../support/events.ts';
import { until } from '../support/until.ts';
import { slowness } from '../support/polls.ts';
import { startReceiver } from '../support/receiver.ts';
import { STORE_KINDS } from '../support/stores.ts';

/* A new address of a subscription does not inherit the answers of the old one. */

/** Changes the address of a subscription during an attempt, which the old receiver then answers with `status`. */
async function movedDuringAttempt(status: number, headers: Record<string, string> = {}) {
  await using service = await startEvents();
  await using before = await startReceiver();
  await using after = await startReceiver();
  const { subscriptionId } = await subscribe(service, { address: before.url });
  const path = `/webhooks/${subscriptionId}`;
  const answered = Promise.withResolvers<ServerResponse>();
  before.answer = (_, res) => answered.resolve(res);
  await created(service, ['o1']);
  const answer = await answered.promise;
  await service.call('PUT', path, { body: { address: after.url } });
  answer.writeHead(status, headers).end();
  const first = async () => (await service.call('GET', `${path}/deliveries`)).at('data.0');
  await until(async () => JSON.stringify(await first()).includes(`"number":1`));
  await created(service, ['o2']);
  const told = (await after.arrived(2)).map(({ body }) => String(JSON.parse(body).id));
  await until(
    async () => (await service.call('GET', `${path}/deliveries?status=waiting`)).at('data.0') === undefined,
  );
  return {
    subscription: (await service.call('GET', path)).body,
    told: told.toSorted(),
    // Newest first.
    delivery: (await service.call('GET', `${path}/deliveries`)).at('data.1'),
  };
}

test.each([
  ['410', 410, {}],
  ['429 with Retry-After', 429, { 'retry-after': '86400' }],
])('a late answer of an old address does not affect the new one: %s', async (_, status, headers) => {
  const { subscription, told, delivery } = await movedDuringAttempt(status, headers);
  expect(subscription).toMatchObject({ status: 'active', failingSince: null });
  expect(told).toEqual(['o1', 'o2']);
  expect(delivery).toMatchObject({
    status: 'succeeded',
    attemptCount: 2,
    attempts: [
      { number: 1, status },
      { number: 2, status: 200 },
    ],
  });
});

test('a new address starts without failures', async () => {
  const clock = manualClock();
  await using service = await startEvents({ clock, env: { GATEHOUSE_RETRY_SCHEDULE: '3600' } });
  await using receiver = await startReceiver();
  receiver.answer = (_, res) => res.writeHead(500).end();
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  const path = `/webhooks/${subscriptionId}`;
  const newest = async () => (await service.call('GET', `${path}/deliveries`)).at('data.0');
  await created(service, ['o1']);
  await until(async () => (await service.call('GET', path)).at('failingSince') !== null);
  const since = (await service.call('GET', path)).at('failingSince');

  clock.advance(121 * HOUR);
  const put = (address: string) => service.call('PUT', path, { body: { address } });
  expect((await put(receiver.url)).at('failingSince')).toBe(since);
  expect((await put(`${receiver.url}/moved`)).at('failingSince')).toBeNull();
  await created(service, ['o2']);
  await until(async () => JSON.stringify(await newest()).includes('"attemptCount":1,'));
  expect((await service.call('GET', path)).at('status')).toBe('active');
});

test.each(STORE_KINDS)(
  'a delivery that waits for a retry goes to a new address at once (%s)',
  async (kind) => {
    await using service = await startEvents({ kind });
    await using before = await startReceiver();
    await using after = await startReceiver();
    before.answer = (_, res) => res.writeHead(500, { 'retry-after': '86400' }).end();
    const { subscriptionId } = await subscribe(service, { address: before.url });
    await service.call('PUT', '/api/settings', { body: { eventsAddress: before.url } });
    const operatorId = (await service.call('GET', '/api/settings')).text('eventsSubscriptionId');
    await created(service, ['o1', 'o2']);
    await service.call('POST', `/webhooks/${operatorId}/test`);
    const failed = () =>
      service.context.db
        .selectFrom('deliveries')
        .select(['step', 'next_at'])
        .where('attempts', '=', 1)
        .execute();
    await until(async () => (await failed()).length === 3);

    await service.call('PUT', `/webhooks/${subscriptionId}`, {
      body: { address: before.url, ratePerSecond: 100 },
    });
    expect((await failed()).every((row) => row.step === 1 && row.next_at > Date.now() + HOUR)).toBe(true);
    await service.call('PUT', `/webhooks/${subscriptionId}`, { body: { address: after.url } });
    await service.call('PUT', '/api/settings', { body: { eventsAddress: after.url } });
    const told = (await after.arrived(3)).map(({ headers }) => headers['x-svc-event']);
    expect(told.toSorted()).toEqual(['created', 'created', 'test']);
    expect(before.received).toHaveLength(3);
  },
);

test('a due delivery has the whole retry schedule at a new address', async () => {
  await using service = await startEvents({ env: { GATEHOUSE_RETRY_SCHEDULE: '0.05' } });
  await using before = await startReceiver();
  await using after = await startReceiver();
  const { subscriptionId } = await subscribe(service, { address: before.url });
  const met = new Set<string>();
  const isFirst = (id = '') => !met.has(id) && met.add(id);
  // The second attempt of one delivery hangs. The others wait behind it for their last attempt.
  before.answer = ({ headers }, res) => void (isFirst(headers['webhook-id']) && res.writeHead(500).end());
  await created(service, ['o1', 'o2', 'o3']);
  await before.arrived(4);
  const inLine = () =>
    service.context.db
      .selectFrom('deliveries')
      .select('step')
      .where('lease_token', 'is', null)
      .where('next_at', '<=', Date.now())
      .execute();
  await until(async () => (await inLine()).length === 2);
  expect(await inLine()).toEqual([{ step: 1 }, { step: 1 }]);
  met.clear();
  after.answer = ({ headers }, res) => res.writeHead(isFirst(headers['webhook-id']) ? 502 : 200).end();
  await service.call('PUT', `/webhooks/${subscriptionId}`, { body: { address: after.url } });
  await after.arrived(4);
  const path = `/webhooks/${subscriptionId}/deliveries`;
  await until(async () => (await service.call('GET', `${path}?status=succeeded`)).at('data.1') !== undefined);
  expect((await service.call('GET', `${path}?status=dead`)).at('data')).toEqual([]);
});

test.each([
  ['one attempt', 1],
  ['as many as run at the same time', 8],
])('attempts that hang at an old address do not delay the new one: %s', async (_, count) => {
  await using service = await startEvents();
  await using before = await startReceiver();
  await using after = await startReceiver();
  const { subscriptionId } = await subscribe(service, { address: before.url });
  before.answer = () => {};
  await created(
    service,
    Array.from({ length: count }, (_one, n) => `o${n}`),
  );
  await until(() => before.open === Math.min(5, count));
  await service.call('PUT', `/webhooks/${subscriptionId}`, { body: { address: after.url } });
  await slowness();
  await created(service, ['new']);
  await expect.poll(() => after.received.map(({ body }) => String(JSON.parse(body).id))).toContain('new');
  expect(before.open).toBe(Math.min(5, count));
});
