import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { freePort } from '../support/cli.ts';
import { freshDatabase } from '../support/stores.ts';
import { startProgram } from './process.ts';

/* A real Medusa server over a database of its own, with an administrator, a secret API key and some goods. */
const MINUTE = 60_000;
const CUSTOMERS = 23;
const PASSWORD = 'secret-password';
const EMAIL = 'admin@example.test';
const run = promisify(execFile);

export interface Medusa extends AsyncDisposable, Goods {
  url: string;
}

interface Goods {
  secretKey: string;
  /** Number of customers. */
  customers: number;
  regionId: string;
  /** A variant that may be ordered, at ten euros. */
  variantId: string;
  /** Revokes the API key of the tests. */
  revokeKey(): Promise<void>;
}

/**
 * Starts the Medusa of an installed folder, with goods in it.
 * @throws Error with the end of its log when it does not start; no process keeps running then.
 */
export async function startMedusa(folder: string): Promise<Medusa> {
  const { database, remove } = await freshDatabase('postgres', { empty: true });
  let end: (() => Promise<void>) | undefined;
  const stop = async () => {
    await end?.();
    await remove();
  };
  try {
    if (database.kind !== 'postgres') throw new Error('Medusa needs PostgreSQL.');
    const env = {
      ...process.env,
      DATABASE_URL: database.url,
      MEDUSA_DISABLE_TELEMETRY: '1',
      NODE_ENV: 'development',
    };
    const bin = join(folder, 'node_modules/.bin/medusa');
    const medusa = (...args: string[]) =>
      run(process.execPath, [bin, ...args], { cwd: folder, env, maxBuffer: 1e8, timeout: 3 * MINUTE });
    await medusa('db:migrate', '--skip-scripts');
    await medusa('user', '-e', EMAIL, '-p', PASSWORD);

    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    end = await startProgram('medusa', [bin, 'start', '-H', '127.0.0.1', '-p', String(port)], {
      cwd: folder,
      env,
      health: `${url}/health`,
    });
    return { url, ...(await fill(url)), [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Creates goods by Medusa's own API, as an administrator does. */
async function fill(url: string): Promise<Goods> {
  const { token } = z
    .object({ token: z.string() })
    .parse(await post(url, '', '/auth/user/emailpass', { email: EMAIL, password: PASSWORD }));
  const admin = (path: string, body: object) => post(url, `Bearer ${token}`, `/admin${path}`, body);

  const { api_key: key } = z
    .object({ api_key: z.object({ id: z.string(), token: z.string() }) })
    .parse(await admin('/api-keys', { title: 'Gatehouse', type: 'secret' }));
  for (let n = 0; n < CUSTOMERS; n++) {
    await admin('/customers', { email: `customer${n}@example.test`, first_name: `C${n}` });
  }
  const { region } = z
    .object({ region: z.object({ id: z.string() }) })
    .parse(await admin('/regions', { name: 'Europe', currency_code: 'eur', countries: ['de', 'fr'] }));
  const { product } = z
    .object({ product: z.object({ variants: z.tuple([z.object({ id: z.string() })]) }) })
    .parse(
      await admin('/products', {
        title: 'Mug',
        status: 'published',
        options: [{ title: 'Size', values: ['S'] }],
        variants: [
          {
            title: 'S',
            manage_inventory: false,
            options: { Size: 'S' },
            prices: [{ currency_code: 'eur', amount: 10 }],
          },
        ],
      }),
    );
  return {
    secretKey: key.token,
    customers: CUSTOMERS,
    regionId: region.id,
    variantId: product.variants[0].id,
    revokeKey: async () => void (await admin(`/api-keys/${key.id}/revoke`, { revoke_in: 0 })),
  };
}

async function post(url: string, authorization: string, path: string, body: object): Promise<unknown> {
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(authorization ? { authorization } : {}) },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
