import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig, type Config } from '../../src/config.ts';
import { openContext, type OpenContext } from '../../src/context.ts';
import type { Credential } from '../../src/credentials/credential.ts';
import { createCredential } from '../../src/credentials/credential-records.ts';
import { createSubscription } from '../../src/subscriptions/subscriptions.ts';
import { createUser } from '../../src/identity/users.ts';
import { DAY, systemClock, type Clock } from '../../src/lib/clock.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { createLog } from '../../src/log.ts';
import { SHORT_INTERVALS } from '../support/clock.ts';
import { eventsCatalog } from '../support/events.ts';

/** A store with subscriptions, for processes that a proof starts and ends. */
export interface Scene extends AsyncDisposable {
  /** Environment variables of a Gatehouse over this store. */
  env: Record<string, string>;
  catalogFolder: string;
  subscriptions: { subscriptionId: string; sourceId: string; secret: string }[];
  /** Context of this process, which serves nothing. */
  context: OpenContext;
}

/** Creates one subscription for each address, each with a source of its own that is never polled. */
export async function openScene(
  addresses: readonly string[],
  { more = {} }: { more?: Record<string, string> } = {},
): Promise<Scene> {
  const catalogFolder = eventsCatalog();
  const { env, context, connect, subscribe } = await openShops(catalogFolder, more);
  const subscriptions: Scene['subscriptions'] = [];
  for (const [position, address] of addresses.entries()) {
    const credential = await connect({ token: `shop_${position}` });
    const { subscription, secret } = await subscribe(credential, address);
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
      rmSync(env.GATEHOUSE_HOME, { recursive: true, force: true });
    },
  };
}

/** Creates a store with a user, and functions that connect accounts of `shop` and subscribe to their orders. */
export async function openShops(catalogFolder: string, more: Record<string, string>) {
  const env = {
    GATEHOUSE_HOME: mkdtempSync(join(tmpdir(), 'gatehouse-proof-')),
    GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1',
    GATEHOUSE_SANDBOX: '0',
    PORT: '0',
    LOG_LEVEL: 'warn',
    ...more,
  };
  const context = await openProof(readConfig(env), catalogFolder);
  const environment = 'development' as const;
  const { userId } = await createUser(context, { environment, username: 'ada' });
  return {
    env,
    context,
    /** The same token is the same account, and so the same credential. */
    connect: (data: JsonObject) =>
      createCredential(context, { environment, userId, connectorId: 'shop', data }),
    subscribe: (credential: Credential, address: string) =>
      createSubscription(context, {
        credential,
        address,
        scope: 'commerce/orders',
        events: ['created'],
        headers: {},
        ratePerSecond: null,
        ordered: false,
        backfill: false,
      }),
  };
}

export function openProof(
  config: Config,
  catalogFolder: string,
  clock: Clock = systemClock,
): Promise<OpenContext> {
  const log = createLog(config.logLevel, process.stderr);
  return openContext(config, { log, catalogFolder, clock, intervals: SHORT_INTERVALS });
}

/** Returns the numbers that are missing between 1 and the highest one. */
export function gapsIn(numbers: Iterable<number>): number {
  const known = new Set(numbers);
  let highest = 0;
  for (const one of known) highest = Math.max(highest, one);
  return highest - known.size;
}
