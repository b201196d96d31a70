import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { freePort } from '../support/cli.ts';
import { freshDatabase } from '../support/stores.ts';
import { startProgram } from './process.ts';

/* A real Parse Server over a database of its own. */

export interface ParseServer extends AsyncDisposable {
  url: string;
  applicationId: string;
  restApiKey: string;
  masterKey: string;
  webhookKey: string;
  /**
   * Calls its REST API as another app does.
   * @throws Error for an answer of 400 and above.
   */
  call(method: string, path: string, body?: object): Promise<unknown>;
  /** Calls it with the master key. */
  administer(method: string, path: string, body?: object): Promise<unknown>;
  /** Creates an object of a class, and returns its id. */
  create(className: string, members: object): Promise<string>;
}

/**
 * Starts the Parse Server of an installed folder.
 * @throws Error with the end of its log when it does not start; no process keeps running then.
 */
export async function startParseServer(folder: string): Promise<ParseServer> {
  const { database, remove } = await freshDatabase('postgres', { empty: true });
  try {
    if (database.kind !== 'postgres') throw new Error('Parse Server is tested over PostgreSQL.');
    const key = () => randomBytes(16).toString('hex');
    const keys = { restAPIKey: key(), masterKey: key(), webhookKey: key() };
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/parse`;
    const env = {
      ...process.env,
      PORT: String(port),
      DATABASE_URL: database.url,
      KEYS: JSON.stringify({ appId: 'shop', ...keys }),
    };
    const end = await startProgram('parse-server', [join(folder, 'server.mjs')], {
      cwd: folder,
      env,
      health: `${url}/health`,
    });
    const caller = (headers: Record<string, string>) => (method: string, path: string, body?: object) =>
      send(url + path, method, { 'x-parse-application-id': 'shop', ...headers }, body);
    const call = caller({ 'x-parse-rest-api-key': keys.restAPIKey });
    return {
      url,
      applicationId: 'shop',
      restApiKey: keys.restAPIKey,
      masterKey: keys.masterKey,
      webhookKey: keys.webhookKey,
      call,
      administer: caller({ 'x-parse-master-key': keys.masterKey }),
      create: async (className, members) =>
        z.object({ objectId: z.string() }).parse(await call('POST', `/classes/${className}`, members))
          .objectId,
      async [Symbol.asyncDispose]() {
        await end();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function send(
  url: string,
  method: string,
  headers: Record<string, string>,
  body: object | undefined,
): Promise<unknown> {
  const answer = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
