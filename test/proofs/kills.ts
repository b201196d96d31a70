import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createInterface } from 'node:readline';
import { TIMING } from '../../src/outbox/delivery-timing.ts';
import { claim, type Proof } from './proof.ts';
import { gapsIn, openScene, type Scene } from './scene.ts';

const RECEIVERS = 10;
const FAILING = 0.1;
/** Many retries, because no delivery may be dead in the end; short delays, so that the proof ends soon. */
const SCHEDULE = [0.2, 0.2, 0.5, 0.5, ...Array<number>(16).fill(1)].join(',');
/** Longest time for the last process to deliver the rest. */
const DRAIN_MS = 180_000;

/** The service publishes and delivers, and is killed repeatedly. Receivers answer one in ten deliveries with 500. */
export const kills: Proof = {
  name: 'kills',
  sizes: {
    PROOF_KILLS: { full: 1000, short: 5 },
    PROOF_EVENTS: { full: 100_000, short: 500 },
    PROOF_LIFE_MS: { full: 1000, short: 500 },
  },
  async run(size) {
    const taken = new Map<string, { times: number; recordId: string; sequence: number; lane: string }>();
    const server = createServer((req, res) => void take(req, res));
    const port = await listening(server);
    let failed = 0;

    async function take(req: IncomingMessage, res: ServerResponse): Promise<void> {
      let body = '';
      req.setEncoding('utf8');
      for await (const chunk of req) body += chunk;
      if (Math.random() < FAILING) {
        failed++;
        res.writeHead(500).end();
        return;
      }
      const id = String(req.headers['webhook-id']);
      const known = taken.get(id);
      if (known) known.times++;
      else {
        const { id: recordId }: { id: string } = JSON.parse(body);
        const sequence = Number(req.headers['x-svc-sequence']);
        taken.set(id, { times: 1, recordId, sequence, lane: String(req.headers['x-svc-subscription-id']) });
      }
      res.writeHead(200).end();
    }

    const addresses = Array.from({ length: RECEIVERS }, (_, n) => `http://127.0.0.1:${port}/${n}`);
    await using scene = await openScene(addresses, { more: { GATEHOUSE_RETRY_SCHEDULE: SCHEDULE } });
    const acknowledged = new Set<string>();
    const lives = size('PROOF_KILLS');
    // Each life must publish its share, so that there are enough events in the end.
    const perLife = Math.ceil(size('PROOF_EVENTS') / lives);
    let next = spawnService(scene, acknowledged);
    let amid = 0;
    for (let life = 0; life < lives; life++) {
      const service = next;
      // The next process loads its code ahead of time. It opens the store when the proof says so.
      next = spawnService(scene, acknowledged);
      const bornAt = Date.now();
      service.send({ life, events: perLife, overMs: size('PROOF_LIFE_MS'), aheadMs: 0 });
      await said(service, 'published');
      await sleep(Math.random() * size('PROOF_LIFE_MS') * 0.2);
      service.kill('SIGKILL');
      await once(service, 'close');
      if ((await underWay(scene, bornAt)) > 0) amid++;
    }
    // Ahead by more than a lease, so that the deliveries of killed processes are free.
    next.send({ life: lives, events: 0, overMs: 0, aheadMs: 2 * TIMING.leaseMs });
    const end = Date.now() + DRAIN_MS;
    while ((await waiting(scene)) > 0 && Date.now() < end) await sleep(50);
    next.kill('SIGTERM');
    await once(next, 'close');
    server.close();

    const arrived = new Set([...taken.values()].map(({ recordId }) => recordId));
    const stored = await scene.context.db.selectFrom('events').select('record_id').execute();
    const lost = [...acknowledged].filter((id) => !arrived.has(id)).length;
    const unsent = stored.filter(({ record_id }) => !arrived.has(record_id)).length;
    const phantoms = arrived.size - stored.length + unsent;
    const repeated = [...taken.values()].reduce((sum, { times }) => sum + times - 1, 0);
    const share = (100 * repeated) / taken.size;
    const gaps = [...Map.groupBy(taken.values(), ({ lane }) => lane).values()].reduce(
      (sum, lane) => sum + gapsIn(lane.map(({ sequence }) => sequence)),
      0,
    );
    const figures =
      `${lives} kill -9, ${amid} of them amid first attempts, ${acknowledged.size} acknowledged events, ${failed} attempts answered with 500: ${lost} lost, ` +
      `${repeated} repeated (${share.toFixed(3)} %) under their own webhook-id, ` +
      `${taken.size - arrived.size} under another, ${phantoms} never stored, ${gaps} gaps in the numbers`;
    claim(lost === 0 && unsent === 0, `nothing is lost (${figures})`);
    claim(taken.size === arrived.size, `an event has one webhook-id (${figures})`);
    claim(phantoms === 0 && gaps === 0, `what arrives was stored, and is numbered without gaps (${figures})`);
    // A few lives are too few to measure a rate.
    claim(lives < 100 || share < 0.5, `fewer than 0.5 % are repeated (${figures})`);
    claim(lives < 100 || amid > lives / 20, `it is killed amid its work (${figures})`);
    claim(acknowledged.size >= size('PROOF_EVENTS'), `there were enough events (${figures})`);
    return figures;
  },
};

async function waiting({ context }: Scene): Promise<number> {
  const row = await context.db
    .selectFrom('deliveries')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('status', '=', 'waiting')
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/** Counts deliveries since a time whose first attempt has begun and has no outcome. */
async function underWay({ context }: Scene, since: number): Promise<number> {
  const rows = await context.db
    .selectFrom('deliveries')
    .select('delivery_id')
    .where('status', '=', 'waiting')
    .where('offered', '=', 1)
    .where('created_at', '>=', since)
    .execute();
  return rows.length;
}

/** Starts the service and collects the ids that it reports as published. It reports them after their commit. */
function spawnService(scene: Scene, acknowledged: Set<string>): ChildProcess {
  const child = fork(join(import.meta.dirname, 'kills-service.ts'), [scene.catalogFolder], {
    env: { ...process.env, ...scene.env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    execArgv: [],
  });
  const { stdout } = child;
  if (!stdout) throw new Error('no output');
  createInterface({ input: stdout }).on('line', (line) => {
    for (const id of line.split(' ')) acknowledged.add(id);
  });
  return child;
}

async function said(child: ChildProcess, what: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.on('message', (message) => message === what && resolve());
    child.once('close', (code) => reject(new Error(`the service ended by itself (${code})`)));
  });
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
