import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { freshDatabase } from '../support/stores.ts';

/*
 * A real Medusa server, which nobody here wrote: installed from npm at a pinned version into a cache folder, over a
 * database of its own, with an administrator, a secret API key and some goods.
 */
const VERSION = '2.21.2';
const START_TIMEOUT_MS = 4 * 60_000;
const run = promisify(execFile);

export interface Medusa extends AsyncDisposable {
  url: string;
  secretKey: string;
  customers: number;
  /** Ends the API key that was handed out. */
  revokeKey(): Promise<void>;
}

/** Installs Medusa where it is not yet. @throws Error when npm cannot be reached. */
export async function installMedusa(): Promise<string> {
  const folder = join(process.env['XDG_CACHE_HOME'] ?? tmpdir(), 'gatehouse-real', `medusa-${VERSION}`);
  if (existsSync(join(folder, 'ready'))) return folder;
  mkdirSync(folder, { recursive: true });
  const dependencies = Object.fromEntries(
    ['cli', 'framework', 'medusa'].map((name) => [`@medusajs/${name}`, VERSION]),
  );
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'shop', private: true, dependencies }));
  await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    maxBuffer: 1e8,
  });
  writeFileSync(join(folder, 'ready'), '');
  return folder;
}

/** Starts it on `port` with goods in it. */
export async function startMedusa(folder: string, port: number): Promise<Medusa> {
  const { database, remove } = await freshDatabase('postgres');
  if (database.kind !== 'postgres') throw new Error('Medusa needs PostgreSQL.');
  mkdirSync(join(folder, 'src'), { recursive: true });
  writeFileSync(
    join(folder, 'medusa-config.js'),
    `const { defineConfig } = require('@medusajs/framework/utils');
const cors = 'http://127.0.0.1';
const http = { storeCors: cors, adminCors: cors, authCors: cors, jwtSecret: 'test', cookieSecret: 'test' };
module.exports = defineConfig({ projectConfig: { databaseUrl: process.env.DATABASE_URL, http }, admin: { disable: true } });
`,
  );
  const env = {
    ...process.env,
    DATABASE_URL: database.url,
    MEDUSA_DISABLE_TELEMETRY: '1',
    NODE_ENV: 'development',
  };
  const bin = join(folder, 'node_modules/.bin/medusa');
  const medusa = (...args: string[]) =>
    run(process.execPath, [bin, ...args], { cwd: folder, env, maxBuffer: 1e8 });
  await medusa('db:migrate', '--skip-scripts');
  await medusa('user', '-e', 'admin@example.test', '-p', 'secret-password');

  const log = openSync(join(folder, 'server.log'), 'w');
  const server = spawn(process.execPath, [bin, 'start', '-H', '127.0.0.1', '-p', String(port)], {
    cwd: folder,
    env,
    stdio: ['ignore', log, log],
  });
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    await end(server);
    await remove();
  };
  try {
    await answers(`${url}/health`, server);
    return { url, ...(await fill(url)), [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function fill(url: string): Promise<Omit<Medusa, 'url' | keyof AsyncDisposable>> {
  const { token } = await call(url, '', 'POST', '/auth/user/emailpass', {
    email: 'admin@example.test',
    password: 'secret-password',
  });
  const bearer = `Bearer ${String(token)}`;
  const made = await call(url, bearer, 'POST', '/admin/api-keys', { title: 'Gatehouse', type: 'secret' });
  const key = z.object({ id: z.string(), token: z.string() }).parse(made['api_key']);
  const customers = 23;
  for (let n = 0; n < customers; n++) {
    await call(url, bearer, 'POST', '/admin/customers', {
      email: `customer${n}@example.test`,
      first_name: `C${n}`,
    });
  }
  return {
    secretKey: key.token,
    customers,
    revokeKey: async () =>
      void (await call(url, bearer, 'POST', `/admin/api-keys/${key.id}/revoke`, { revoke_in: 0 })),
  };
}

async function call(
  url: string,
  authorization: string,
  method: string,
  path: string,
  body: object,
): Promise<{ [key: string]: unknown }> {
  const answer = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json', ...(authorization ? { authorization } : {}) },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return z.record(z.string(), z.unknown()).parse(await answer.json());
}

async function answers(url: string, server: ChildProcess): Promise<void> {
  const until = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < until) {
    if (server.exitCode !== null)
      throw new Error(`Medusa ended with code ${server.exitCode}; see its server.log.`);
    const ok = await fetch(url).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error('Medusa did not start in time.');
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const gone = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGTERM');
  const force = setTimeout(() => server.kill('SIGKILL'), 10_000);
  await gone;
  clearTimeout(force);
}
