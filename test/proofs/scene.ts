import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig, type Config } from '../../src/config.ts';
import { openContext, type OpenContext } from '../../src/context.ts';
import { createCredential } from '../../src/credentials/records.ts';
import { createSubscription } from '../../src/subscriptions/subscriptions.ts';
import { createUser } from '../../src/identity/users.ts';
import { DAY } from '../../src/lib/clock.ts';
import { createLog } from '../../src/log.ts';
import { eventsCatalog } from '../support/events.ts';

/** A store with subscriptions, for processes that a proof starts and ends. */
export interface Scene extends AsyncDisposable {
  /** What a process needs to be a Gatehouse over this store. */
  env: Record<string, string>;
  catalogFolder: string;
  subscriptions: { subscriptionId: string; sourceId: string; secret: string }[];
  /** Of this process, which serves nothing. */
  context: OpenContext;
}

/** One subscription for each address, each with a source of its own, which nothing polls. */
export async function openScene(
  addresses: readonly string[],
  { more = {} }: { more?: Record<string, string> } = {},
): Promise<Scene> {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-proof-'));
  const env = {
    GATEHOUSE_HOME: home,
    GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1',
    GATEHOUSE_SANDBOX: '0',
    PORT: '0',
    LOG_LEVEL: 'warn',
    ...more,
  };
  const catalogFolder = eventsCatalog();
  const context = await openProof(readConfig(env), catalogFolder);
  const { userId } = await createUser(context, { environment: 'development', username: 'ada' });
  const subscriptions: Scene['subscriptions'] = [];
  // The same key is the same account, and so the same credential.
  const connect = (account: number) =>
    createCredential(context, {
      environment: 'development',
      userId,
      connectorId: 'shop',
      data: { token: `shop_${account}` },
    });
  for (const [position, address] of addresses.entries()) {
    const credential = await connect(position);
    const { subscription, secret } = await createSubscription(context, {
      credential,
      address,
      scope: 'commerce/orders',
      events: ['created'],
      headers: {},
      ratePerSecond: null,
      ordered: false,
      backfill: false,
    });
    subscriptions.push({
      subscriptionId: subscription.subscription_id,
      sourceId: subscription.source_id ?? '',
      secret,
    });
  }
  const next = { next_poll_at: context.clock.now() + 20 * DAY, interval_ms: 20 * DAY };
  await context.db.updateTable('sources').set(next).execute();
  return {
    env,
    catalogFolder,
    subscriptions,
    context,
    async [Symbol.asyncDispose]() {
      await context.close();
      rmSync(home, { recursive: true, force: true });
      rmSync(catalogFolder, { recursive: true, force: true });
    },
  };
}

export function openProof(config: Config, catalogFolder: string): Promise<OpenContext> {
  return openContext(config, { log: createLog(config.logLevel, process.stderr), catalogFolder });
}

/** The numbers that are missing from 1 to the highest of them. */
export function gapsIn(numbers: Iterable<number>): number {
  const known = new Set(numbers);
  let highest = 0;
  for (const one of known) highest = Math.max(highest, one);
  return highest - known.size;
}
