import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { DAY, SECOND } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { created, startEvents, subscribe, type EventsService } from '../support/events.ts';
import { until } from '../support/until.ts';
import { scanned } from '../support/polls.ts';
import { startReceiver, verified } from '../support/receiver.ts';
import { startService } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

const SHORT = { GATEHOUSE_RETRY_SCHEDULE: '0.1,0.1' };
async function deliveries(service: EventsService, subscriptionId: string, query = '') {
  return service.call('GET', `/webhooks/${subscriptionId}/deliveries${query}`);
}

describe.each(STORE_KINDS)('on %s', (kind) => {
  test('an event arrives signed, numbered and described', async () => {
    await using service = await startEvents({ kind, env: SHORT });
    await using receiver = await startReceiver();
    const { subscriptionId, secret } = await subscribe(service, {
      address: receiver.url,
      headers: { Authorization: 'Bearer of-the-receiver', 'X-Team': 'orders' },
    });
    expect(await created(service, ['o1', 'o2'])).toBe(2);
    const received = await receiver.arrived(2);
    for (const one of received) {
      expect(verified(secret, one)).toMatchObject({ total: '12.50', note: 'Grüße\r\n🌍' });
      expect(one.headers).toMatchObject({
        'content-type': 'application/json',
        'x-svc-scope': 'commerce/orders',
        'x-svc-event': 'created',
        'x-svc-connection-id': service.connectionId,
        'x-svc-subscription-id': subscriptionId,
        authorization: 'Bearer of-the-receiver',
        'x-team': 'orders',
      });
    }
    expect(received.map(({ headers }) => headers['x-svc-sequence']).toSorted()).toEqual(['1', '2']);
    await until(
      async () => (await deliveries(service, subscriptionId, '?status=succeeded')).at('data.1') !== undefined,
    );
    const listed = await deliveries(service, subscriptionId);
    expect(listed.at('data.0.sequence')).toBe(2);
    expect(listed.at('data.0.attempts.0.status')).toBe(200);
    const logged = service.logged.join('');
    expect(logged).not.toContain('of-the-receiver');
    expect(logged).not.toContain(secret);
  });

  test('a failed delivery is retried under its id, and dead after the last attempt', async () => {
    await using service = await startEvents({ kind, env: SHORT });
    await using receiver = await startReceiver();
    receiver.answer = (_, res) => res.writeHead(500).end('no luck');
    const { subscriptionId, secret } = await subscribe(service, { address: receiver.url });
    await created(service, ['o1']);
    const received = await receiver.arrived(3);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    for (const one of received) verified(secret, one);
    await until(async () => (await deliveries(service, subscriptionId)).at('data.0.status') === 'dead');
    const dead = await deliveries(service, subscriptionId);
    expect(dead.at('data.0.attemptCount')).toBe(3);
    expect(dead.at('data.0.attempts.2.excerpt')).toBe('no luck');
    expect(dead.at('data.0.lastError')).toBe('status');

    receiver.answer = (_, res) => res.writeHead(204).end();
    const since = '2020-01-01T00:00:00Z';
    const recover = () => service.call('POST', `/webhooks/${subscriptionId}/recover`, { body: { since } });
    expect((await recover()).at('recovered')).toBe(1);
    await until(async () => (await deliveries(service, subscriptionId)).at('data.0.status') === 'succeeded');
    expect((await recover()).at('recovered')).toBe(0);
    expect(receiver.received[3]?.headers['webhook-id']).toBe(received[0]?.headers['webhook-id']);
    expect((await deliveries(service, subscriptionId)).at('data.0.attemptCount')).toBe(4);
  });

  test('a transaction that is rolled back sends nothing and leaves no gap', async () => {
    await using service = await startEvents({ kind, env: SHORT });
    await using receiver = await startReceiver();
    await subscribe(service, { address: receiver.url });
    await created(service, ['never'], { rollBack: true });
    service.context.dispatcher.wake();
    await created(service, ['o1']);
    await receiver.arrived(1);
    await scanned(service);
    expect(receiver.received.map(({ headers }) => headers['x-svc-sequence'])).toEqual(['1']);
  });

  test('an ordered subscription sends one at a time and waits for a failing one', async () => {
    await using service = await startEvents({ kind, env: SHORT });
    await using receiver = await startReceiver();
    let failures = 2;
    receiver.answer = (_, res) => res.writeHead(failures-- > 0 ? 500 : 200).end();
    await subscribe(service, { address: receiver.url, ordered: true });
    for (const id of ['o1', 'o2', 'o3']) await created(service, [id, `${id}b`]);
    const received = await receiver.arrived(8);
    expect(received.map(({ headers }) => headers['x-svc-sequence'])).toEqual('1 1 1 2 3 4 5 6'.split(' '));
    expect(receiver.mostOpen).toBe(1);
  });

  test('concurrent subscriptions to one source share it', async () => {
    await using service = await startEvents({ kind, env: SHORT });
    const made = await Promise.all(
      Array.from({ length: 6 }, (_, n) => subscribe(service, { address: `http://127.0.0.1:9/${n}` })),
    );
    expect(new Set(made.map(({ subscriptionId }) => subscriptionId)).size).toBe(6);
    const sources = () => service.context.db.selectFrom('sources').select('source_id').execute();
    expect((await sources()).length).toBe(1);

    // Deleting one subscription while another is created keeps the source.
    let kept = 'http://127.0.0.1:9/0';
    const end = ({ subscriptionId }: { subscriptionId: string }) =>
      service.call('DELETE', `/webhooks/${subscriptionId}`);
    for (const one of made.slice(1)) await end(one);
    let last = made[0];
    for (let n = 10; n < 30 && last; n++) {
      kept = `http://127.0.0.1:9/${n}`;
      const [next] = await Promise.all([subscribe(service, { address: kept }), end(last)]);
      last = next;
    }
    const left = await service.call('GET', `/2023-03/one/webhooks?connectionId=${service.connectionId}`);
    expect(left.at('data.0.address')).toBe(kept);
    expect((await sources()).length).toBe(1);
  });

  test('two processes on one store deliver each event once', async () => {
    await using first = await startEvents({ kind });
    await using second = await startService({ env: first.env });
    await using receiver = await startReceiver();
    await subscribe(first, { address: receiver.url });
    for (let n = 0; n < 30; n++) {
      await created(first, [`a${n}`, `b${n}`], { wake: false });
      second.context.dispatcher.wake();
      first.context.dispatcher.wake();
    }
    // Both processes publish at the same time to the same subscription.
    const { userId, connectionId } = first;
    for (let n = 0; n < 15; n++)
      await Promise.all([
        created(first, [`c${n}`, `d${n}`]),
        created({ ...second, userId, connectionId }, [`e${n}`]),
        created(first, [`f${n}`]),
      ]);
    await receiver.arrived(120);
    await Promise.all([scanned(first), scanned(second)]);
    const numbers = receiver.received.map(({ headers }) => Number(headers['x-svc-sequence']));
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 120 }, (_, n) => n + 1));
  });
});

test('a 410 disables the subscription and notifies the operator', async () => {
  await using service = await startEvents({ env: SHORT });
  await using receiver = await startReceiver();
  await using operator = await startReceiver();
  const settings = await service.call('PUT', '/api/settings', { body: { eventsAddress: operator.url } });
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  receiver.answer = (_, res) => res.writeHead(410).end();
  await created(service, ['o1']);
  await until(
    async () => (await service.call('GET', `/webhooks/${subscriptionId}`)).at('status') === 'disabled',
  );
  expect(await created(service, ['missed'])).toBe(0);
  const [told] = await operator.arrived(1);
  expect(told && verified(settings.text('eventsSecret'), told)).toMatchObject({
    type: 'subscription.disabled',
    data: { subscriptionId },
  });
  expect((await service.call('POST', `/webhooks/${subscriptionId}/test`)).text('code')).toBe(
    'subscription_disabled',
  );

  receiver.answer = (_, res) => res.writeHead(200).end();
  expect((await service.call('POST', `/webhooks/${subscriptionId}/enable`)).at('status')).toBe('active');
  const recovered = await service.call('POST', `/webhooks/${subscriptionId}/recover`, {
    body: { since: '2020-01-01T00:00:00Z' },
  });
  expect(recovered.at('recovered')).toBe(2);
  const received = await receiver.arrived(3);
  const ids = received.slice(1).map(({ body }) => JSON.parse(body).id);
  expect(ids.toSorted()).toEqual(['missed', 'o1']);
});

test('120 hours of failures disable a subscription, and a 503 does not count', async () => {
  const clock = manualClock();
  await using service = await startEvents({ clock, env: { GATEHOUSE_RETRY_SCHEDULE: '3600,3600,3600' } });
  await using receiver = await startReceiver();
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  const attemptAfter = async (hours: number, status: number) => {
    receiver.answer = (_, res) => res.writeHead(status).end();
    clock.advance(hours * 3_600_000);
    await created(service, [`o${receiver.received.length}`]);
    await until(async () => (await deliveries(service, subscriptionId)).at('data.0.attemptCount') === 1);
  };
  const state = async () => (await service.call('GET', `/webhooks/${subscriptionId}`)).at('status');
  await attemptAfter(0, 500);
  await attemptAfter(119, 500);
  expect(await state()).toBe('active');
  await attemptAfter(2, 503);
  expect(await state()).toBe('active');
  await attemptAfter(1, 200);
  await attemptAfter(1, 500);
  expect(await state()).toBe('active');
  clock.advance(121 * 3_600_000);
  service.context.dispatcher.wake();
  await until(async () => (await state()) === 'disabled');
});

test('Retry-After pauses all deliveries of the subscription in all processes', async () => {
  const clock = manualClock();
  await using service = await startEvents({ clock });
  await using receiver = await startReceiver();
  receiver.answer = (_, res) => res.writeHead(429, { 'retry-after': '600' }).end();
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  await created(service, ['o1']);
  await until(async () => (await deliveries(service, subscriptionId)).at('data.0.attemptCount') === 1);
  const listed = await deliveries(service, subscriptionId);
  expect(Date.parse(listed.text('data.0.nextAttemptAt'))).toBe(clock.now() + 600_000);
  receiver.answer = (_, res) => res.writeHead(200).end();
  await created(service, ['o2']);
  await scanned(service);
  expect(receiver.received.length).toBe(1);
  await service.context.dispatcher.close();
  await using second = await startService({ env: service.env, clock });
  await scanned(second);
  expect(receiver.received.length).toBe(1);
  clock.advance(600_000);
  second.context.dispatcher.wake();
  await receiver.arrived(3);
});

test('redirects are failures, and large answers are read only in part', async () => {
  await using service = await startEvents({ env: { GATEHOUSE_RETRY_SCHEDULE: '3600' } });
  await using receiver = await startReceiver();
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  receiver.answer = (_, res) => res.writeHead(302, { location: receiver.url }).end();
  await created(service, ['o1']);
  await until(async () => (await deliveries(service, subscriptionId)).at('data.0.lastError') === 'redirect');
  receiver.answer = (_, res) => res.writeHead(200).end('x'.repeat(500_000));
  await created(service, ['o2']);
  await until(async () => (await deliveries(service, subscriptionId)).at('data.0.status') === 'succeeded');
  expect((await deliveries(service, subscriptionId)).text('data.0.attempts.0.excerpt').length).toBe(4096);
  expect(receiver.received.length).toBe(2);
});

test('deliveries do not exceed the rate of their subscription', async () => {
  const clock = manualClock();
  await using service = await startEvents({ clock });
  await using receiver = await startReceiver();
  await subscribe(service, { address: receiver.url, ratePerSecond: 10 });
  await created(service, ['o1', 'o2', 'o3', 'o4']);
  for (let n = 1; n <= 4; n++) {
    await receiver.arrived(n);
    await scanned(service);
    expect(receiver.received).toHaveLength(n);
    clock.advance(100);
  }
});

test('a hanging address does not delay other addresses', async () => {
  await using service = await startEvents();
  await using hanging = await startReceiver();
  hanging.answer = () => {};
  await using well = await startReceiver();
  await subscribe(service, { address: hanging.url });
  await subscribe(service, { address: well.url });
  for (let n = 0; n < 40; n++) await created(service, [`o${n}`]);
  await well.arrived(40);
  expect([hanging.open, hanging.received.length]).toEqual([5, 5]);
});

test('deleting a subscription aborts its running attempts', async () => {
  await using service = await startEvents();
  await using receiver = await startReceiver();
  receiver.answer = () => {};
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  await created(service, ['o1']);
  await receiver.arrived(1);
  expect((await service.call('DELETE', `/webhooks/${subscriptionId}`)).status).toBe(200);
  await until(() => receiver.open === 0);
  // An attempt that times out has an outcome.
  expect(service.logged.join('')).not.toMatch(/"level":50|"attempt":1/);
});

test('each replaced secret also signs for a day', async () => {
  const clock = manualClock(Date.now());
  await using service = await startEvents({ clock });
  await using receiver = await startReceiver();
  const { subscriptionId, secret } = await subscribe(service, { address: receiver.url });
  const rotate = async () =>
    (await service.call('POST', `/webhooks/${subscriptionId}/rotate-secret`)).text('secret');
  const delivered = async (count: number) => {
    await service.call('POST', `/webhooks/${subscriptionId}/test`);
    const one = (await receiver.arrived(count)).at(-1);
    if (!one) throw new Error('nothing arrived');
    return one;
  };
  const second = await rotate();
  const third = await rotate();
  const one = await delivered(1);
  expect(one.headers['x-svc-event']).toBe('test');
  expect(one.headers['x-svc-test']).toBe('true');
  for (const known of [secret, second, third]) verified(known, one);

  clock.advance(DAY + 1);
  const later = await delivered(2);
  const { 'webhook-id': id = '', 'webhook-timestamp': at, 'webhook-signature': signature } = later.headers;
  expect(signature).toBe(new Webhook(third).sign(id, new Date(Number(at) * 1000), later.body));
});

test('a stop lets running attempts finish and releases the other deliveries', async () => {
  await using service = await startEvents();
  await using receiver = await startReceiver();
  const held: ServerResponse[] = [];
  receiver.answer = (_, res) => void held.push(res);
  await subscribe(service, { address: receiver.url });
  await created(
    service,
    Array.from({ length: 12 }, (_, n) => `o${n}`),
  );
  await receiver.arrived(5);
  const closed = service.context.dispatcher.close();
  for (const res of held) res.writeHead(200).end();
  await closed;
  const rows = await service.context.db.selectFrom('deliveries').select(['status', 'lease_token']).execute();
  const done = rows.filter(({ status }) => status === 'succeeded').length;
  expect([done, receiver.received.length]).toEqual([5, 5]);
  expect(rows.filter(({ lease_token }) => lease_token !== null)).toEqual([]);
});

test('slots missed during slow answers do not raise the rate later', async () => {
  const clock = manualClock();
  await using service = await startEvents({ clock });
  await using receiver = await startReceiver();
  const held: ServerResponse[] = [];
  receiver.answer = (_, res) => void held.push(res);
  await subscribe(service, { address: receiver.url, ratePerSecond: 20 });
  await created(
    service,
    Array.from({ length: 10 }, (_, n) => `o${n}`),
  );
  // As many attempts as run at the same time.
  for (let n = 1; n <= 5; n++) {
    await receiver.arrived(n);
    clock.advance(50);
  }
  clock.advance(5 * SECOND);
  receiver.answer = (_, res) => res.writeHead(200).end();
  for (const res of held) res.writeHead(200).end();
  for (let n = 6; n <= 8; n++) {
    await receiver.arrived(n);
    await scanned(service);
    expect(receiver.received).toHaveLength(n);
    clock.advance(50);
  }
});
