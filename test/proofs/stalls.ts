import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { publish } from '../../src/outbox/publish.ts';
import { until } from '../support/until.ts';
import { startReceiver, type Received, type Receiver } from '../support/receiver.ts';
import { claim, type Proof } from './proof.ts';
import { openScene, type Scene } from './scene.ts';

const TIMING = { attemptMs: 500, marginMs: 200, leaseMs: 1000, slowMs: 1000 };
const LANES = 8;

/** A worker is stopped for twice its lease while another delivers its deliveries. It stores nothing when it continues. */
export const stalls: Proof = {
  name: 'stalls',
  sizes: { PROOF_STALLS: { full: 100, short: 4 } },
  async run(size) {
    await using receiver = await startReceiver();
    const addresses = Array.from({ length: LANES }, (_, n) => `${receiver.url}/${n}`);
    await using scene = await openScene(addresses);
    const workers = [await startWorker(scene), await startWorker(scene)] as const;
    const sum = { held: 0, late: 0, changed: 0, twice: 0, locked: 0 };
    try {
      for (let round = 0; round < size('PROOF_STALLS'); round++) {
        const [stopped, other] = round % 2 === 0 ? workers : [workers[1], workers[0]];
        await stall(scene, receiver, { stopped, other, round, sum });
      }
    } finally {
      for (const { child } of workers) {
        child.kill('SIGCONT');
        child.kill('SIGKILL');
      }
    }
    const figures =
      `${size('PROOF_STALLS')} SIGSTOP for twice the lease, ${sum.held} deliveries held meanwhile, ` +
      `${sum.late} outcomes that came too late: ${sum.changed} rows changed by them, ${sum.twice} deliveries under two ids` +
      (sum.locked > 0 ? `; ${sum.locked} stopped within a write went on for a moment` : '');
    claim(sum.changed === 0 && sum.twice === 0, figures);
    claim(sum.late > 0 && sum.held > 0, `there was something to write too late (${figures})`);
    return figures;
  },
};

async function stall(
  scene: Scene,
  receiver: Receiver,
  round: {
    stopped: Worker;
    other: Worker;
    round: number;
    sum: { held: number; late: number; changed: number; twice: number; locked: number };
  },
): Promise<void> {
  const { stopped, other, sum } = round;
  other.child.kill('SIGSTOP');
  const open: ServerResponse[] = [];
  receiver.received.splice(0);
  receiver.answer = (_, res) => void open.push(res);
  await publishOne(scene, `r${round.round}`);
  await until(() => open.length === LANES);
  const first = ids(receiver.received);

  // In every second round the answers race with the stop, so that some outcomes are not stored yet.
  const races = round.round % 4 >= 2;
  if (races) {
    for (const res of open.splice(0)) res.writeHead(200).end();
    await sleep(Math.random() * 4);
  }
  sum.locked += await stop(scene, stopped);
  const stoppedAt = Date.now();
  const lateBefore = stopped.late();
  for (const res of open.splice(0)) res.writeHead(200).end();
  receiver.received.splice(0);
  // The other worker fails in every second subscription. A late success must not replace that failure.
  receiver.answer = ({ path }, res) => res.writeHead(Number(path.at(-1)) % 2 === 0 ? 200 : 500).end();
  other.child.kill('SIGCONT');
  await sleep(Math.max(0, stoppedAt + 2 * TIMING.leaseMs - Date.now()));
  // Waits until the other worker has stored its outcomes, also on a busy machine.
  await until(async () => (await unsettled(scene)) === 0);

  const before = await rowsOf(scene);
  const taken = new Set(ids(receiver.received));
  stopped.child.kill('SIGCONT');
  await sleep(TIMING.attemptMs);
  const after = await rowsOf(scene);
  sum.held += taken.size;
  sum.late += stopped.late() - lateBefore;
  for (const [id, row] of before) if (taken.has(id) && after.get(id) !== row) sum.changed++;
  for (const id of taken) if (!first.includes(id)) sum.twice++;

  // Unstored outcomes stay unstored, so nothing of this round is left for the next one.
  await until(async () => (await unsettled(scene)) === 0);
  await scene.context.db.deleteFrom('events').execute();
}

/**
 * Stops a worker, but not during a write. It would hold SQLite's lock, and the other worker could not claim anything.
 * @returns how often it was stopped during a write.
 */
async function stop({ context: { db } }: Scene, { child }: Worker): Promise<number> {
  for (let locked = 0; ; locked++) {
    child.kill('SIGSTOP');
    const writable = await db
      .transaction()
      .execute(async () => true)
      .catch(() => false);
    if (writable) return locked;
    child.kill('SIGCONT');
    await sleep(1);
  }
}

function ids(received: readonly Received[]): string[] {
  return received.map(({ headers }) => headers['webhook-id'] ?? '');
}

async function publishOne({ context, subscriptions }: Scene, recordId: string): Promise<void> {
  await context.db.transaction().execute(async (tx) => {
    for (const { sourceId } of subscriptions) {
      await publish(tx, context, {
        source: { sourceId, environment: 'development' },
        events: [{ eventScope: 'commerce/orders', event: 'created', recordId, body: { id: recordId } }],
      });
    }
  });
}

/** Returns the stored state of each delivery, with its attempts, as one text. */
async function rowsOf({ context: { db } }: Scene): Promise<Map<string, string>> {
  const deliveries = await db.selectFrom('deliveries').selectAll().execute();
  const attempts = await db.selectFrom('delivery_attempts').selectAll().orderBy('number').execute();
  const byId = Map.groupBy(attempts, (row) => row.delivery_id);
  return new Map(
    deliveries.map((row) => [row.delivery_id, JSON.stringify([row, byId.get(row.delivery_id) ?? []])]),
  );
}

async function unsettled({ context: { db } }: Scene): Promise<number> {
  const rows = await db
    .selectFrom('deliveries')
    .select('delivery_id')
    .where('status', '=', 'waiting')
    .where('attempts', '=', 0)
    .execute();
  return rows.length;
}

interface Worker {
  child: ChildProcess;
  /** Number of outcomes that the worker dropped because its lease was lost. */
  late(): number;
}

const line = z.object({ msg: z.string() });

async function startWorker(scene: Scene): Promise<Worker> {
  const settings = JSON.stringify({ catalogFolder: scene.catalogFolder, timing: TIMING });
  const child = spawn(process.execPath, [join(import.meta.dirname, 'stalls-worker.ts'), settings], {
    env: { ...process.env, ...scene.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let late = 0;
  const lines = createInterface({ input: child.stdout });
  const ready = once(lines, 'line');
  lines.on('line', (text) => {
    if (line.parse(JSON.parse(text)).msg === 'outcome dropped, lease lost') late++;
  });
  await ready;
  return { child, late: () => late };
}
