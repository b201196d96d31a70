import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../src/config.ts';
import { createCredential } from '../../src/credentials/credential-records.ts';
import { createUser } from '../../src/identity/users.ts';
import { MINUTE } from '../../src/lib/clock.ts';
import { createSubscription } from '../../src/subscriptions/subscriptions.ts';
import { freePort } from '../support/cli.ts';
import { startPostgres } from '../support/postgres.ts';
import { startAccounts } from './accounts.ts';
import { claim, type Proof } from './proof.ts';
import { shopsCatalog } from './provider.ts';
import { openProof } from './scene.ts';

/** Longest time for the last processes to deliver the rest. */
const DRAIN_MS = 180_000;
/** Longer than all leases, so that other processes take over what a killed one held. */
const APART_MS = 2 * MINUTE;
const SOURCES_A_KILL = 3;
const KILLED_WITHIN_MS = 2000;
const environment = 'development' as const;

/**
 * Sources and subscriptions begin, and a process is killed in their first two seconds: while it registers webhooks, lists
 * the orders or takes the first webhook. Half of the kills meet one process on SQLite, the others two on PostgreSQL.
 */
export const beginnings: Proof = {
  name: 'beginnings',
  sizes: { PROOF_BEGINNINGS: { full: 1000, short: 20 } },
  async run(size) {
    const kills = Math.ceil(size('PROOF_BEGINNINGS') / 2);
    const onSqlite = await killAtBeginnings({ kills, processes: 1 });
    const postgres = await startPostgres(['-c', 'fsync=off', '-c', 'full_page_writes=off']);
    try {
      const onPostgres = await killAtBeginnings({ kills, processes: 2, DATABASE_URL: postgres.url });
      return `on SQLite ${onSqlite}; on PostgreSQL with two processes ${onPostgres}`;
    } finally {
      await postgres.stop();
    }
  },
};

async function killAtBeginnings({
  kills,
  processes,
  ...more
}: {
  kills: number;
  processes: number;
  DATABASE_URL?: string;
}): Promise<string> {
  let aheadMs = 0;
  const clock = { now: () => Date.now() + aheadMs };
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-proof-'));
  const catalogFolder = shopsCatalog();
  const ports = await Promise.all(Array.from({ length: processes }, freePort));
  const env = {
    GATEHOUSE_HOME: home,
    GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1',
    GATEHOUSE_SANDBOX: '0',
    GATEHOUSE_POLL_INTERVAL: '1',
    LOG_LEVEL: 'fatal',
    ...more,
  };
  const spawn = (port: number | undefined) =>
    fork(join(import.meta.dirname, 'life.ts'), [catalogFolder], {
      env: { ...process.env, ...env, PORT: String(port) },
    });
  const arrived = new Map<string, Set<string>>();
  const receiver = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk) => (body += String(chunk)));
    req.on('end', () => {
      const { remoteId }: { remoteId: string } = JSON.parse(body);
      arrived.set(remoteId, (arrived.get(remoteId) ?? new Set()).add(String(req.headers['webhook-id'])));
      res.end();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const at = receiver.address();
  if (at === null || typeof at === 'string') throw new Error('no port');
  const receiverAddress = `http://127.0.0.1:${at.port}/`;
  const context = await openProof(readConfig({ ...env, PORT: '0' }), catalogFolder, clock);
  const { userId } = await createUser(context, { environment, username: 'ada' });
  let turn = 0;
  await using shop = await startAccounts(clock.now, () => `http://127.0.0.1:${ports[turn++ % ports.length]}`);
  const expected: string[] = [];

  /** Connects an account and subscribes to its orders. An order without a webhook follows at once. */
  async function beginSource(token: string): Promise<void> {
    const account = shop.open(token);
    const data = { token, origin: shop.url };
    const how = { environment, userId, connectorId: 'shop', data };
    const credential = await createCredential(context, how);
    await createSubscription(context, {
      credential,
      address: receiverAddress,
      scope: 'commerce/orders',
      events: ['created'],
      headers: {},
      ratePerSecond: null,
      ordered: false,
      backfill: false,
    });
    expected.push(shop.create(account));
  }

  const living: ChildProcess[] = [];
  let next = spawn(ports[0]);
  for (const [position, port] of ports.entries()) {
    const one = next;
    next = spawn(ports[position + 1] ?? port);
    await begin(one, aheadMs);
    living.push(one);
  }
  try {
    for (let kill = 0; kill < kills; kill++) {
      const place = kill % processes;
      next.kill('SIGKILL');
      next = spawn(ports[place]);
      const began = Array.from({ length: SOURCES_A_KILL }, (_, n) => beginSource(`shop_${kill}_${n}`));
      await Promise.all(began);
      await sleep(Math.random() * KILLED_WITHIN_MS);
      const victim = living[place];
      victim?.kill('SIGKILL');
      if (victim) await once(victim, 'close');
      aheadMs += APART_MS;
      for (const one of living) if (one !== victim) one.send(aheadMs);
      await begin(next, aheadMs);
      living[place] = next;
      next = spawn(ports[(place + 1) % processes]);
    }
    const lost = () => [...expected, ...shop.accepted].filter((id) => !arrived.has(id));
    const hooks = () => shop.accepted.size >= kills * SOURCES_A_KILL;
    const end = Date.now() + DRAIN_MS;
    // A webhook that is still being sent may be accepted after all others were delivered.
    while ((lost().length > 0 || !hooks() || !shop.isSettled()) && Date.now() < end) await sleep(100);
    const doubled = [...arrived.values()].filter((ids) => ids.size > 1).length;
    const figures = `${kills} kills, ${shop.accepted.size} accepted webhooks and ${expected.length} listed orders, ${lost().length} lost, ${doubled} under two ids`;
    claim(
      hooks() && shop.isSettled(),
      `every source registers its webhook, and all are accepted (${figures})`,
    );
    claim(lost().length === 0, `nothing is lost (${figures}: ${lost().join(' ')})`);
    claim(doubled === 0, `an order has one event (${figures})`);
    return figures;
  } finally {
    for (const one of [...living, next]) one.kill('SIGKILL');
    receiver.close();
    receiver.closeAllConnections();
    await context.close();
    rmSync(home, { recursive: true, force: true });
    rmSync(catalogFolder, { recursive: true, force: true });
  }
}

async function begin(process: ChildProcess, aheadMs: number): Promise<void> {
  process.send(aheadMs);
  await once(process, 'message');
}
