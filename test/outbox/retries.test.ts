import { expect, onTestFinished, test } from 'vitest';
import { TIMING } from '../../src/outbox/delivery-timing.ts';
import { Dispatcher } from '../../src/outbox/dispatcher.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { created, startEvents, subscribe, type EventsService } from '../support/events.ts';
import { until } from '../support/until.ts';
import { scanned } from '../support/polls.ts';
import { startReceiver } from '../support/receiver.ts';

/* Retries of failed deliveries (docs/webhooks.md, When a delivery fails). */

const SCHEDULE = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** Resolves with the only delivery of a subscription after this many attempts. */
async function tried(service: EventsService, subscriptionId: string, times: number) {
  const read = () => service.call('GET', `/webhooks/${subscriptionId}/deliveries`);
  await until(async () => (await read()).at('data.0.attemptCount') === times);
  return read();
}

test('a failed delivery follows the retry schedule and is dead after the last', async () => {
  const clock = manualClock();
  await using service = await startEvents({ clock });
  await using receiver = await startReceiver();
  receiver.answer = (_, res) => res.writeHead(500).end();
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  await created(service, ['o1']);
  for (const [index, wait] of SCHEDULE.entries()) {
    const delivery = await tried(service, subscriptionId, index + 1);
    const waitMs = Date.parse(delivery.text('data.0.nextAttemptAt')) - clock.now();
    expect(waitMs / wait).toBeGreaterThanOrEqual(0.8);
    expect(waitMs / wait).toBeLessThanOrEqual(1.2);
    clock.advance(waitMs);
    service.context.dispatcher.wake();
  }
  const dead = await tried(service, subscriptionId, 10);
  expect([dead.at('data.0.status'), dead.at('data.0.nextAttemptAt')]).toEqual(['dead', null]);
  clock.advance(DAY);
  service.context.dispatcher.wake();
  await scanned(service);
  expect(receiver.received).toHaveLength(10);
});

test('a failed delivery is retried at the time that the receiver names', async () => {
  const clock = manualClock();
  await using service = await startEvents({ clock });
  await using receiver = await startReceiver();
  receiver.answer = (_, res) => res.writeHead(500, { 'retry-after': '600' }).end();
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  await created(service, ['o1']);
  const delivery = await tried(service, subscriptionId, 1);
  expect(Date.parse(delivery.text('data.0.nextAttemptAt'))).toBe(clock.now() + 10 * MINUTE);
});

test('a missing answer times out, and an unfinished answer counts by its status', async () => {
  expect(TIMING.attemptMs).toBe(15 * SECOND);
  await using service = await startEvents();
  const { context } = service;
  await using receiver = await startReceiver();
  receiver.answer = (_, res) => {
    if (receiver.received.length > 1) res.writeHead(200).write('so far');
  };
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  await context.dispatcher.close();
  await created(service, ['o1']);
  const dispatcher = new Dispatcher(context, {
    outbound: context.outbound,
    scheduleMs: [SECOND],
    timing: { ...TIMING, attemptMs: SECOND },
  });
  onTestFinished(() => dispatcher.close());
  dispatcher.start();
  const failed = await tried(service, subscriptionId, 1);
  expect(failed.at('data.0')).toMatchObject({
    status: 'waiting',
    lastError: 'timeout',
    attempts: [{ number: 1, status: null, error: 'timeout', excerpt: null }],
  });
  const durationMs = Number(failed.at('data.0.attempts.0.durationMs'));
  expect(durationMs).toBeGreaterThan(0.9 * SECOND);
  expect(durationMs).toBeLessThan(TIMING.attemptMs);
  const done = await tried(service, subscriptionId, 2);
  expect(done.at('data.0')).toMatchObject({
    status: 'succeeded',
    attempts: [{ error: 'timeout' }, { number: 2, status: 200, error: null, excerpt: 'so far' }],
  });
  // The deadline of the attempt ends the connection of the unfinished answer too.
  await until(() => receiver.open === 0);
});
