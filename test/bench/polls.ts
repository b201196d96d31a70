import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../src/config.ts';
import { openContext } from '../../src/context.ts';
import { createCredential } from '../../src/credentials/credential-records.ts';
import { ensureSource } from '../../src/sources/source-records.ts';
import { createUser } from '../../src/identity/users.ts';
import { SECOND } from '../../src/lib/clock.ts';
import { createLog } from '../../src/log.ts';
import { shopsCatalog } from '../proofs/provider.ts';
import { cpuSeconds } from './processes.ts';

/** Measures many sources in one process: the share of a core that polls each of them once in its interval. */
export async function benchPolls(): Promise<void> {
  const SOURCES = 10_000;
  const INTERVAL_SECONDS = 60;
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  const catalogFolder = shopsCatalog();
  let asked = 0;
  const shop = createServer((_req, res) => {
    asked += 1;
    res.setHeader('Content-Type', 'application/json');
    res.end('{"orders":[],"more":false}');
  });
  await new Promise<void>((listens) => shop.listen(0, '127.0.0.1', listens));
  const address = shop.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const env = {
    GATEHOUSE_HOME: home,
    GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1',
    GATEHOUSE_SANDBOX: '0',
    GATEHOUSE_POLL_INTERVAL: String(INTERVAL_SECONDS),
    PORT: '0',
    LOG_LEVEL: 'warn',
  };
  const context = await openContext(readConfig(env), {
    log: createLog('warn', process.stderr),
    catalogFolder,
  });
  const connector = context.catalog.connector('development', 'polled-shop');
  if (!connector) throw new Error('no connector');
  const { userId } = await createUser(context, { environment: 'development', username: 'ada' });
  for (let n = 0; n < SOURCES; n++) {
    const credential = await createCredential(context, {
      environment: 'development',
      userId,
      connectorId: connector.connectorId,
      data: { token: `shop_${n}`, origin: `http://127.0.0.1:${address.port}` },
    });
    const wish = {
      environment: 'development',
      userId,
      credential,
      connector,
      scope: 'commerce/orders',
    } as const;
    await context.db.transaction().execute(async (tx) => {
      const { sourceId } = await ensureSource(tx, context, wish);
      const now = Date.now();
      await tx
        .updateTable('sources')
        .set({
          baseline_at: now,
          cursor_until: now,
          next_poll_at: now + 20 * SECOND + Math.floor((n * INTERVAL_SECONDS * SECOND) / SOURCES),
        })
        .where('source_id', '=', sourceId)
        .execute();
    });
  }
  const begin = Date.now() + 5 * SECOND;
  const rows = await context.db.selectFrom('sources').select('source_id').execute();
  await context.db.transaction().execute(async (tx) => {
    for (const [n, { source_id: id }] of rows.entries())
      await tx
        .updateTable('sources')
        .set({ next_poll_at: begin + Math.floor((n * INTERVAL_SECONDS * SECOND) / SOURCES) })
        .where('source_id', '=', id)
        .execute();
  });
  const child = fork(new URL('../proofs/life.ts', import.meta.url).pathname, [catalogFolder], {
    env: { ...process.env, ...env },
  });
  child.send(0);
  await once(child, 'message');
  await sleep(Math.max(0, begin - Date.now()));
  const pid = child.pid ?? 0;
  const before = cpuSeconds(pid);
  const was = asked;
  const began = performance.now();
  await sleep(INTERVAL_SECONDS * SECOND);
  const seconds = (performance.now() - began) / 1000;
  const cpu = cpuSeconds(pid) - before;
  console.log(
    `polls: ${asked - was} in ${seconds.toFixed(1)} s, ${(cpu / seconds).toFixed(2)} of a core, ${((cpu * 1e3) / (asked - was)).toFixed(2)} ms each`,
  );
  child.kill('SIGKILL');
  await once(child, 'close');
  await context.close();
  shop.closeAllConnections();
  shop.close();
  rmSync(home, { recursive: true, force: true });
  rmSync(catalogFolder, { recursive: true, force: true });
}
