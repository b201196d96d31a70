import { afterAll, beforeAll, expect, test } from 'vitest';
import { deleteOldEvents } from '../../src/events/retention.ts';
import { DAY } from '../../src/lib/clock.ts';
import { created, startEvents, subscribe, until, type EventsService } from '../support/events.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';

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

test('events are kept for 30 days with their deliveries, those that wait for as long as they do', async () => {
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
