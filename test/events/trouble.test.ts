import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, expect, test } from 'vitest';
import { created, startEvents, subscribe, until, type EventsService } from '../support/events.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';

/* What happens to deliveries when something around them fails. */

const closing: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function start(options: Parameters<typeof startEvents>[0] = {}): Promise<EventsService> {
  const service = await startEvents(options);
  closing.push(() => service.stop());
  return service;
}

async function receive(): Promise<Receiver> {
  const receiver = await startReceiver();
  closing.push(() => receiver[Symbol.asyncDispose]());
  return receiver;
}

const many = (count: number): string[] => Array.from({ length: count }, (_, n) => `o${n}`);

/** Lets the store refuse that deliveries of a subscription succeed, until one of them could not be written. */
async function refuseOnce(service: EventsService, subscriptionId: string, publish: () => Promise<unknown>) {
  const { db } = service.context;
  await sql`create trigger refused before update on deliveries
    when new.status = 'succeeded' and new.subscription_id = ${sql.lit(subscriptionId)} and new.sequence < 4
    begin select raise(abort, 'no room'); end`.execute(db);
  await publish();
  await until(() => service.logged.join('').includes('outcome not written'));
  await sql`drop trigger refused`.execute(db);
}

test('what was held back while an outcome could not be written goes out when it is', async () => {
  const service = await start();
  const receiver = await receive();
  receiver.answer = (_, res) => void setTimeout(() => res.writeHead(200).end(), 100);
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  await created(service, ['first']);
  await until(() => service.logged.join('').includes('"delivery"'));
  await refuseOnce(service, subscriptionId, () => created(service, many(60)));
  expect(await receiver.arrived(61, 6000)).toHaveLength(61);
});

test('an order goes on after the outcome of somebody else could not be written', async () => {
  const service = await start();
  const [ordered, other] = [await receive(), await receive()];
  ordered.answer = (_, res) => void setTimeout(() => res.writeHead(200).end(), 50);
  const { subscriptionId } = await subscribe(service, { address: other.url, scope: 'commerce/products' });
  await subscribe(service, { address: ordered.url, ordered: true });
  await created(service, many(30));
  await ordered.arrived(2);
  await refuseOnce(service, subscriptionId, () => created(service, ['p1'], { scope: 'commerce/products' }));
  expect(await ordered.arrived(30, 8000)).toHaveLength(30);
});
