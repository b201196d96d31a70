import { createHmac, createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Agent } from 'undici';
import { takeEvents } from './events-door.ts';

/*
 * The least that durable delivery can cost: one table, WAL, synchronous FULL, one signed POST each. Events that arrive in
 * one turn of the event loop share a commit. No subscriptions, no retries, no log, no guard. Argument: the address.
 */
const address = new URL(process.argv[2] ?? '');
/** Concurrent deliveries, as many as Gatehouse makes to a healthy receiver. */
const AT_ONCE = 64;
const db = new Database(join(mkdtempSync(join(tmpdir(), 'bench-events-')), 'events.db'));
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec('create table events (id text primary key, body text not null, state integer not null)');
const insert = db.prepare('insert into events values (?, ?, 0)');
const finish = db.prepare('update events set state = 1 where id = ?');
const secret = randomBytes(32);
const key = createSecretKey(secret);
const agent = new Agent({ connections: AT_ONCE });

interface Event {
  id: string;
  body: string;
  stored: () => void;
}
let incoming: Event[] = [];
let done: string[] = [];
let planned = false;
const queue: Event[] = [];
let running = 0;

const commit = db.transaction((events: Event[], ids: string[]) => {
  for (const { id, body } of events) insert.run(id, body);
  for (const id of ids) finish.run(id);
});

function plan(): void {
  if (planned) return;
  planned = true;
  setImmediate(() => {
    planned = false;
    const events = incoming;
    const ids = done;
    incoming = [];
    done = [];
    commit.immediate(events, ids);
    for (const event of events) {
      event.stored();
      queue.push(event);
    }
    pump();
  });
}

function pump(): void {
  while (running < AT_ONCE) {
    const event = queue.shift();
    if (!event) return;
    running++;
    void deliver(event).finally(() => {
      running--;
      pump();
    });
  }
}

async function deliver({ id, body }: Event): Promise<void> {
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
  done.push(id);
  plan();
}

const door = createServer(
  takeEvents(
    (_endpoint, body) =>
      new Promise((stored) => {
        incoming.push({ id: randomUUID(), body, stored });
        plan();
      }),
  ),
);
door.listen(0, '127.0.0.1', () => {
  const bound = door.address();
  const port = bound && typeof bound === 'object' ? bound.port : 0;
  const said = { url: `http://127.0.0.1:${port}`, secrets: [`whsec_${secret.toString('base64')}`] };
  process.stdout.write(`${JSON.stringify(said)}\n`);
});
