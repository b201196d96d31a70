import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOUR } from '../../src/lib/clock.ts';
import { Dispatcher } from '../../src/outbox/dispatcher.ts';
import { publish } from '../../src/outbox/publish.ts';
import { startEvents, subscribe, type EventsService } from '../support/events.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';

/* Concurrent publishing transactions, which only PostgreSQL has. */

let service: EventsService;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  service = await startEvents({ kind: 'postgres' });
  await subscribe(service, { address: receiver.url });
});
afterAll(async () => {
  await service.stop();
  await receiver[Symbol.asyncDispose]();
});

test('a commit during a query of other commits is sent at once, a rollback never', async () => {
  await using receiver = await startReceiver();
  // No poll finds a delivery here, so each must be sent by its handoff.
  const intervals = { changesMs: HOUR, workMs: HOUR };
  await using own = await startEvents({ kind: 'postgres', intervals });
  await subscribe(own, { address: receiver.url });
  const { context } = own;
  const { source_id: sourceId } = await context.db
    .selectFrom('sources')
    .select('source_id')
    .executeTakeFirstOrThrow();
  const publishHeld = async (id: string) => {
    const held = Promise.withResolvers<void>();
    const published = Promise.withResolvers<void>();
    const ended = context.db.transaction().execute(async (tx) => {
      await publish(tx, context, {
        source: { sourceId, environment: 'development' },
        events: [{ eventScope: 'commerce/orders', event: 'created', recordId: id, body: { id } }],
      });
      published.resolve();
      await held.promise;
      return tx;
    });
    await published.promise;
    return { held, ended };
  };
  for (let round = 0; round < 12; round++) {
    const before = receiver.received.length;
    const one = await publishHeld(`order_${round}`);
    context.dispatcher.wake();
    for (let turn = 0; turn < round % 4; turn++) await nextTurn();
    one.held.resolve();
    const tx = await one.ended;
    context.dispatcher.committed(tx);
    await receiver.arrived(before + 1);
  }
  const gone = await publishHeld('gone');
  context.dispatcher.wake();
  gone.held.reject(new Error('rolled back'));
  await expect(gone.ended).rejects.toThrow('rolled back');
  const last = await publishHeld('last');
  last.held.resolve();
  context.dispatcher.committed(await last.ended);
  await receiver.arrived(13);
  expect(receiver.received.map(({ body }) => JSON.parse(body).id)).not.toContain('gone');
});

test.each(['wake', 'committed'] as const)(
  'a handoff committed after its process closed goes to others at once (%s)',
  async (how) => {
    const { context } = service;
    const dispatcher = new Dispatcher(context, { outbound: context.outbound, scheduleMs: [1000] });
    dispatcher.start();
    const before = receiver.received.length;
    const ended = await context.db.transaction().execute(async (tx) => {
      const source = await tx.selectFrom('sources').select('source_id').executeTakeFirstOrThrow();
      await publish(
        tx,
        { ...context, dispatcher },
        {
          source: { sourceId: source.source_id, environment: 'development' },
          events: [{ eventScope: 'commerce/orders', event: 'created', recordId: how, body: { id: how } }],
        },
      );
      await dispatcher.close();
      return tx;
    });
    dispatcher[how](ended);
    await receiver.arrived(before + 1);
    expect(receiver.received.at(-1)?.body).toBe(`{"id":"${how}"}`);
  },
);
