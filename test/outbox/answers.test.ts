import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { created, startEvents, subscribe } from '../support/events.ts';
import { until } from '../support/until.ts';
import { startReceiver } from '../support/receiver.ts';

/* The status of an answer decides a delivery, and at most 64 KiB of it are read (docs/webhooks.md). */

const CHUNK = Buffer.alloc(64 * 1024, 'x');
/** Bytes that the buffers of both sockets and of the kernel take before anything is read; measured below 4 MB. */
const BUFFERED_BYTES = 16 * 1024 * 1024;
/** Bytes after which a receiver stops writing: a client that has read this much reads for ever. */
const ENOUGH_BYTES = 4 * BUFFERED_BYTES;

/** Writes to an answer as fast as the client reads, until the client closes. Returns the bytes so far. */
function pour(res: ServerResponse): () => number {
  let written = 0;
  const more = (): void => {
    while (!res.destroyed && written < ENOUGH_BYTES) {
      written += CHUNK.length;
      if (!res.write(CHUNK)) return;
    }
  };
  res.on('drain', more);
  more();
  return () => written;
}

test('an endless answer is read up to its limit and its connection closed', async () => {
  await using service = await startEvents();
  await using receiver = await startReceiver();
  let written = (): number => 0;
  receiver.answer = (_, res) => void (written = pour(res.writeHead(200)));
  const { subscriptionId } = await subscribe(service, { address: receiver.url });
  await created(service, ['o1']);
  await receiver.arrived(1);
  await until(() => receiver.open === 0);
  expect(written()).toBeLessThan(BUFFERED_BYTES);
  const read = () => service.call('GET', `/webhooks/${subscriptionId}/deliveries`);
  await until(async () => (await read()).at('data.0.status') === 'succeeded');
  expect((await read()).text('data.0.attempts.0.excerpt')).toBe('x'.repeat(4096));
});

test('unfinished large answers of one host leave its connections to others', async () => {
  await using service = await startEvents();
  await using receiver = await startReceiver();
  receiver.answer = ({ path }, res) => {
    res.writeHead(200);
    if (path === '/unfinished') res.write(Buffer.concat([CHUNK, CHUNK]));
    else res.end();
  };
  await subscribe(service, { address: receiver.url.replace('/hook', '/unfinished') });
  // More than the connections to one host.
  await created(
    service,
    Array.from({ length: 80 }, (_, n) => `o${n}`),
  );
  await receiver.arrived(80);
  await subscribe(service, { address: receiver.url, scope: 'commerce/products' });
  await created(service, ['p1'], { scope: 'commerce/products' });
  await until(() => receiver.received.some(({ path }) => path === '/hook'));
  await until(() => receiver.open === 0);
  expect(receiver.received.filter(({ path }) => path === '/hook')).toHaveLength(1);
});
