import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, test } from 'vitest';
import type { Config } from '../../src/config.ts';
import { runSql } from './postgres.ts';

export type StoreKind = 'sqlite' | 'postgres';
export const STORE_KINDS: StoreKind[] = ['sqlite', 'postgres'];

/** Returns `test` for behaviour that no store changes. It is declared for SQLite alone; undefined for PostgreSQL. */
export const testOnce = (kind: StoreKind) => (kind === 'sqlite' ? test : undefined);

/** Creates a database for one test, with this release's schema or `empty`, and a function that removes it. */
export async function freshDatabase(
  kind: StoreKind,
  { empty = false } = {},
): Promise<{ database: Config['database']; remove: () => Promise<void> }> {
  return kind === 'sqlite' ? freshSqlite() : freshPostgres(empty);
}

/** Creates an empty SQLite database in any case, because the schema of a file takes milliseconds. */
function freshSqlite() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  return {
    database: { kind: 'sqlite' as const, path: join(folder, 'gatehouse.db') },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function freshPostgres(empty: boolean) {
  const server = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Copied files take half of the time of copied pages, which PostgreSQL writes to its log.
  const source = empty ? '' : ` template ${inject('postgresTemplate')} strategy file_copy`;
  await runSql(server, `create database ${name}${source}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    database: { kind: 'postgres' as const, url: url.href },
    remove: () => runSql(server, `drop database ${name} with (force)`),
  };
}
