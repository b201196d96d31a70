import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { inject } from 'vitest';
import type { Config } from '../../src/config.ts';

export type StoreKind = 'sqlite' | 'postgres';
export const STORE_KINDS: StoreKind[] = ['sqlite', 'postgres'];

/** A database of its own for one test, and how to remove it. */
export async function freshDatabase(
  kind: StoreKind,
): Promise<{ database: Config['database']; remove: () => Promise<void> }> {
  return kind === 'sqlite' ? freshSqlite() : freshPostgres();
}

function freshSqlite() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  return {
    database: { kind: 'sqlite' as const, path: join(folder, 'gatehouse.db') },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function freshPostgres() {
  const server = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const run = async (sql: string) => {
    const client = new Client({ connectionString: server });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  };
  await run(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    database: { kind: 'postgres' as const, url: url.href },
    remove: () => run(`drop database ${name} with (force)`),
  };
}
