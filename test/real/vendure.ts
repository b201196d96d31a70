import { join } from 'node:path';
import { z } from 'zod';
import { freePort } from '../support/cli.ts';
import { freshDatabase } from '../support/stores.ts';
import { startProgram } from './process.ts';

/* A real Vendure shop over a database of its own, which has a country, a tax and a way to send parcels. */

const USERNAME = 'admin@example.test';
const PASSWORD = 'secret-password';

export interface Vendure extends AsyncDisposable {
  url: string;
  username: string;
  password: string;
  /** Asks its Admin API as another administrator does. */
  ask(query: string, variables?: object): Promise<unknown>;
}

/**
 * Starts the Vendure of an installed folder.
 * @throws Error with the end of its log when it does not start; no process keeps running then.
 */
export async function startVendure(folder: string): Promise<Vendure> {
  const { database, remove } = await freshDatabase('postgres', { empty: true });
  let end: (() => Promise<void>) | undefined;
  const stop = async () => {
    await end?.();
    await remove();
  };
  try {
    if (database.kind !== 'postgres') throw new Error('Vendure is tested over PostgreSQL.');
    const [port, readyPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    end = await startProgram('vendure', [join(folder, 'server.mjs')], {
      cwd: folder,
      env: {
        ...process.env,
        PORT: String(port),
        READY_PORT: String(readyPort),
        DATABASE_URL: database.url,
        USERNAME,
        PASSWORD,
      },
      health: `http://127.0.0.1:${readyPort}`,
    });
    return {
      url,
      username: USERNAME,
      password: PASSWORD,
      ask: await signedIn(`${url}/admin-api`),
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const answerShape = z.object({ data: z.unknown(), errors: z.array(z.unknown()).optional() });

/** Signs in, and returns a function that asks in this session. */
async function signedIn(address: string): Promise<Vendure['ask']> {
  const post = async (token: string, query: string, variables: object = {}) => {
    const answer = await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = answerShape.parse(await answer.json());
    if (errors !== undefined) throw new Error(`${query}: ${JSON.stringify(errors)}`);
    return { data, token: answer.headers.get('vendure-auth-token') ?? '' };
  };
  const login = 'mutation ($u: String!, $p: String!) { login(username: $u, password: $p) { __typename } }';
  const { token } = await post('', login, { u: USERNAME, p: PASSWORD });
  return async (query, variables) => (await post(token, query, variables)).data;
}
