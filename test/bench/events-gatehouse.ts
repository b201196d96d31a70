import { z } from 'zod';
import { listen } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { DAY } from '../../src/lib/clock.ts';
import { shopsCatalog } from '../proofs/provider.ts';
import { openProof, openShops } from '../proofs/scene.ts';
import { startShop } from './events-shop.ts';

/*
 * The whole of Gatehouse for the events bench, with subscriptions whose apps post webhooks to it. `{addresses}` creates a
 * store with a subscription for each address, over one account each, or over one for all (`oneSource`). `{join}` starts
 * another process over an existing store. Prints a JSON line with the path and secret of each webhook.
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
  const catalogFolder = shopsCatalog();
  const shop = await startShop();
  const { env, context, connect, subscribe } = await openShops(catalogFolder, {
    // The first poll of a source is made at once, and no other while the bench runs.
    GATEHOUSE_POLL_INTERVAL: String(DAY / 1000),
    ...more,
  });
  const tokens = addresses.map((_, n) => `shop_${oneSource ? 0 : n}`);
  const secrets: string[] = [];
  let credential: Awaited<ReturnType<typeof connect>> | undefined;
  for (const [n, address] of addresses.entries()) {
    if (!credential || !oneSource) credential = await connect({ token: tokens[n] ?? '', origin: shop.url });
    secrets.push((await subscribe(credential, address)).secret);
  }
  const { port } = await listen(context);
  const registered = await Promise.all([...new Set(tokens)].map((token) => shop.hookOf(token)));
  const hooks = registered.map(({ address, secret }) => ({ path: new URL(address).pathname, secret }));
  return { url: `http://127.0.0.1:${port}`, env, catalogFolder, secrets, hooks };
}
