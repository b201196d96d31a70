import { describe, expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { created, startEvents, subscribe } from '../support/events.ts';
import { startReceiver } from '../support/receiver.ts';
import { STORE_KINDS } from '../support/stores.ts';

describe.each(STORE_KINDS)('the counts of deliveries over %s', (kind) => {
  test('deliveries are counted by the hour of their event and by their state', async () => {
    const clock = manualClock();
    await using service = await startEvents({ kind, clock });
    await using receiver = await startReceiver();
    const { subscriptionId } = await subscribe(service, { address: receiver.url });
    const counts = async (hours: number) => {
      const { body } = await service.call('GET', `/api/deliveries/summary?hours=${hours}`);
      return body;
    };
    await created(service, ['o1', 'o2']);
    await expect.poll(() => counts(1)).toMatchObject({ total: { succeeded: 2, waiting: 0 } });

    clock.advance(HOUR);
    // The receiver names the next attempt: an hour and half a minute later.
    receiver.answer = (_, res) => res.writeHead(500, { 'retry-after': '3630' }).end();
    await created(service, ['o3']);
    await receiver.arrived(3);
    const newest = async (field: string) =>
      (await service.call('GET', `/webhooks/${subscriptionId}/deliveries`)).at(`data.0.${field}`);
    await expect.poll(() => newest('nextAttemptAt')).not.toBeNull();
    expect(await counts(2)).toEqual({
      total: { succeeded: 2, waiting: 1, dead: 0, cancelled: 0 },
      hours: [
        { at: expect.any(String), succeeded: 2, waiting: 0, dead: 0, cancelled: 0 },
        { at: expect.any(String), succeeded: 0, waiting: 1, dead: 0, cancelled: 0 },
      ],
    });

    clock.advance(HOUR);
    expect(await counts(2)).toMatchObject({ hours: [{ waiting: 1 }, { waiting: 0 }] });
    receiver.answer = (_, res) => res.writeHead(200).end();
    clock.advance(MINUTE / 2);
    service.context.dispatcher.wake();
    await expect.poll(() => newest('status')).toBe('succeeded');
    expect(await counts(2)).toMatchObject({ hours: [{ waiting: 1 }, { waiting: 0 }] });
    clock.advance(MINUTE / 2);
    expect(await counts(2)).toMatchObject({ hours: [{ waiting: 0, succeeded: 1 }, {}] });
  });

  test('another environment, and hours beyond 30 days, are not counted', async () => {
    await using service = await startEvents({ kind });
    await using receiver = await startReceiver();
    await subscribe(service, { address: receiver.url });
    await created(service, ['o1']);
    await receiver.arrived(1);
    const other = await service.call('GET', '/api/deliveries/summary', { bearer: service.productionKey });
    expect(other.at('total')).toEqual({ succeeded: 0, waiting: 0, dead: 0, cancelled: 0 });
    const tooMany = await service.call('GET', '/api/deliveries/summary?hours=721');
    expect([tooMany.status, tooMany.at('code')]).toEqual([400, 'invalid_request']);
  });
});
