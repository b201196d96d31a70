import { createHmac, createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Queue, Worker } from 'bullmq';
import { Agent } from 'undici';
import { takeEvents } from './events-door.ts';

/*
 * BullMQ over Redis, whose append-only file is synced once a second: 202 when the job is added, one signed POST each.
 * Arguments: the address, the port of Redis.
 */
const address = new URL(process.argv[2] ?? '');
const connection = { host: '127.0.0.1', port: Number(process.argv[3]) };
/** Concurrent deliveries, as many as Gatehouse makes to a healthy receiver. */
const AT_ONCE = 64;
const secret = randomBytes(32);
const key = createSecretKey(secret);
const agent = new Agent({ connections: AT_ONCE });
const name = `events-${randomUUID()}`;
const queue = new Queue<{ body: string }>(name, { connection });
const worker = new Worker<{ body: string }>(
  name,
  async (job) => {
    const { body } = job.data;
    const id = job.id ?? '';
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
    const answer = await agent.request({
      origin: address.origin,
      path: address.pathname,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      },
      body,
    });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`the receiver answered ${answer.statusCode}`);
  },
  { connection, concurrency: AT_ONCE },
);
await worker.waitUntilReady();

const door = createServer(
  takeEvents(async (_endpoint, body) => {
    await queue.add('event', { body }, { removeOnComplete: true });
  }),
);
door.listen(0, '127.0.0.1', () => {
  const bound = door.address();
  const port = bound && typeof bound === 'object' ? bound.port : 0;
  const said = { url: `http://127.0.0.1:${port}`, secrets: [`whsec_${secret.toString('base64')}`] };
  process.stdout.write(`${JSON.stringify(said)}\n`);
});
