import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { listen } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { createCredential } from '../../src/credentials/records.ts';
import { createSubscription } from '../../src/subscriptions/subscriptions.ts';
import { createUser } from '../../src/identity/users.ts';
import { DAY } from '../../src/lib/clock.ts';
import { shopsCatalog } from '../proofs/provider.ts';
import { openProof } from '../proofs/scene.ts';
import { startShop } from './events-shop.ts';

/*
 * Gatehouse as the events bench sees it: all of it, with subscriptions whose apps post webhooks to it. `{addresses}` makes a
 * store with a subscription for each address, each over an account of its own or all over one (`oneSource`). `{join}` is
 * another process over a store that is there. Prints a JSON line with the path and secret of each webhook.
 */
const settings = z
  .union([
    z.object({
      addresses: z.array(z.string()),
      env: z.record(z.string(), z.string()).default({}),
      oneSource: z.boolean().default(false),
    }),
    z.object({ join: z.object({ env: z.record(z.string(), z.string()), catalogFolder: z.string() }) }),
  ])
  .parse(JSON.parse(process.argv[2] ?? '{}'));

const said = 'join' in settings ? await serveStore(settings.join) : await serveNewStore(settings);
process.stdout.write(`${JSON.stringify(said)}\n`);

interface Store {
  env: Record<string, string>;
  catalogFolder: string;
}

async function serveStore({ env, catalogFolder }: Store) {
  const { port } = await listen(await openProof(readConfig(env), catalogFolder));
  return { url: `http://127.0.0.1:${port}`, env, catalogFolder };
}

async function serveNewStore({
  addresses,
  env: more,
  oneSource,
}: Exclude<typeof settings, { join: unknown }>) {
  const env = {
    GATEHOUSE_HOME: mkdtempSync(join(tmpdir(), 'gatehouse-bench-')),
    GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1',
    GATEHOUSE_SANDBOX: '0',
    // The first poll of a source is made at once, and no other while the bench runs.
    GATEHOUSE_POLL_INTERVAL: String(DAY / 1000),
    PORT: '0',
    LOG_LEVEL: 'warn',
    ...more,
  };
  const catalogFolder = shopsCatalog();
  const shop = await startShop();
  const context = await openProof(readConfig(env), catalogFolder);
  const { userId } = await createUser(context, { environment: 'development', username: 'ada' });
  const connect = (token: string) =>
    createCredential(context, {
      environment: 'development',
      userId,
      connectorId: 'shop',
      data: { token, origin: shop.url },
    });
  const tokens = addresses.map((_, n) => `shop_${oneSource ? 0 : n}`);
  const credentials = new Map<string, Awaited<ReturnType<typeof connect>>>();
  const secrets: string[] = [];
  for (const [n, address] of addresses.entries()) {
    const token = tokens[n] ?? '';
    const credential = credentials.get(token) ?? (await connect(token));
    credentials.set(token, credential);
    const { secret } = await createSubscription(context, {
      credential,
      address,
      scope: 'commerce/orders',
      events: ['created'],
      headers: {},
      ratePerSecond: null,
      ordered: false,
      backfill: false,
    });
    secrets.push(secret);
  }
  const { port } = await listen(context);
  const registered = await Promise.all([...credentials.keys()].map((token) => shop.hookOf(token)));
  const hooks = registered.map(({ address, secret }) => ({ path: new URL(address).pathname, secret }));
  return { url: `http://127.0.0.1:${port}`, env, catalogFolder, secrets, hooks };
}
