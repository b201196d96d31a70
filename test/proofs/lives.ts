import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config.ts';
import { openContext, type OpenContext } from '../../src/context.ts';
import { createCredential } from '../../src/credentials/credential-records.ts';
import { createSubscription } from '../../src/subscriptions/subscriptions.ts';
import { createUser } from '../../src/identity/users.ts';
import { createLog } from '../../src/log.ts';
import { freePort } from '../support/cli.ts';
import { shopsCatalog, startProvider, type Provider } from './provider.ts';

/** A shop, a subscription to its orders, and Gatehouses over one store that run one after the other. */
export interface Lives extends AsyncDisposable {
  provider: Provider;
  /** Address of the running Gatehouse. */
  url: string;
  /** Context of this process, which serves nothing. */
  context: OpenContext;
  /** Starts the next Gatehouse, with its clock ahead of ours by this much. */
  begin(aheadMs: number): Promise<void>;
  /** Kills the running Gatehouse. */
  kill(): Promise<void>;
}

export async function openLives(connectorId: 'shop' | 'polled-shop'): Promise<Lives> {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-proof-'));
  const catalogFolder = shopsCatalog();
  const provider = await startProvider();
  const port = await freePort();
  const env = {
    GATEHOUSE_HOME: home,
    GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1',
    GATEHOUSE_SANDBOX: '0',
    GATEHOUSE_POLL_INTERVAL: '1',
    PORT: String(port),
    LOG_LEVEL: 'error',
  };
  const context = await openContext(readConfig(env), {
    log: createLog('error', process.stderr),
    catalogFolder,
  });
  const { userId } = await createUser(context, { environment: 'development', username: 'ada' });
  const credential = await createCredential(context, {
    environment: 'development',
    userId,
    connectorId,
    data: { token: 'shop_0123456789', origin: provider.url },
  });
  await createSubscription(context, {
    credential,
    address: 'http://127.0.0.1:9/nobody',
    scope: 'commerce/orders',
    events: ['created'],
    headers: {},
    ratePerSecond: null,
    ordered: false,
    backfill: false,
  });
  const spawn = () =>
    fork(join(import.meta.dirname, 'life.ts'), [catalogFolder], { env: { ...process.env, ...env } });
  let next = spawn();
  let living: ChildProcess | undefined;
  return {
    provider,
    url: `http://127.0.0.1:${port}`,
    context,
    async begin(aheadMs) {
      living = next;
      // The next process loads its code at the same time.
      next = spawn();
      living.send(aheadMs);
      await once(living, 'message');
    },
    async kill() {
      if (!living) return;
      living.kill('SIGKILL');
      await once(living, 'close');
      living = undefined;
    },
    async [Symbol.asyncDispose]() {
      for (const one of [living, next]) one?.kill('SIGKILL');
      await context.close();
      await provider[Symbol.asyncDispose]();
      rmSync(home, { recursive: true, force: true });
      rmSync(catalogFolder, { recursive: true, force: true });
    },
  };
}

/** Returns how many `created` events each record had. */
export async function toldIn({ context }: Lives): Promise<Map<string, number>> {
  const rows = await context.db.selectFrom('events').select('body').where('event', '=', 'created').execute();
  const told = new Map<string, number>();
  for (const { body } of rows) {
    const { remoteId }: { remoteId: string } = JSON.parse(body);
    told.set(remoteId, (told.get(remoteId) ?? 0) + 1);
  }
  return told;
}
