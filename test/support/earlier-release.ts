import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { z } from 'zod';
import { migrateWithin } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-database.ts';
import { freshDatabase, type StoreKind } from './stores.ts';

const FOLDER = join(import.meta.dirname, '../fixtures/earlier-release');
const VERSION = 15;
/** The table that the migrations fill. */
const VERSIONS = 'schema_versions';

const facts = z.object({
  developmentKey: z.string(),
  demonstrationPath: z.string(),
  userId: z.string(),
  connectionId: z.string(),
  serverId: z.string(),
  serverPath: z.string(),
  subscriptionId: z.string(),
  webhookSecret: z.string(),
  workflowId: z.string(),
});

/** The home of a release that ended before this one starts, with the ids and secrets of its store. */
export interface EarlierHome extends AsyncDisposable, z.infer<typeof facts> {
  /** Environment of a Gatehouse that opens it. */
  readonly env: Record<string, string>;
}

/** Creates a home with the store of test/fixtures/earlier-release, on either database. */
export async function earlierHome(kind: StoreKind): Promise<EarlierHome> {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-earlier-'));
  const path = join(home, 'gatehouse.db');
  writeFileSync(path, gunzipSync(readFileSync(join(FOLDER, 'store.db.gz'))), { mode: 0o600 });
  // git keeps no mode, and Gatehouse refuses a key that others can read.
  writeFileSync(join(home, 'master.key'), readFileSync(join(FOLDER, 'master.key')), { mode: 0o600 });
  const postgres = kind === 'postgres' ? await copyToPostgres(path) : undefined;
  return {
    ...facts.parse(JSON.parse(readFileSync(join(FOLDER, 'facts.json'), 'utf8'))),
    env: { GATEHOUSE_HOME: home, ...(postgres ? { DATABASE_URL: postgres.url } : {}) },
    async [Symbol.asyncDispose]() {
      await postgres?.remove();
      rmSync(home, { recursive: true });
    },
  };
}

/** Makes the schema of that version in PostgreSQL, and copies the rows of the SQLite database. Removes the latter. */
async function copyToPostgres(path: string): Promise<{ url: string; remove(): Promise<void> }> {
  const { database, remove } = await freshDatabase('postgres', { empty: true });
  if (database.kind !== 'postgres') throw new Error('PostgreSQL is needed.');
  await using store = await openStore(database);
  const source = new Sqlite(path, { readonly: true });
  await store.db.transaction().execute(async (tx) => {
    await migrateWithin(tx, { now: 0, upTo: VERSION });
    await sql`set local session_replication_role = replica`.execute(tx);
    const tables = await sql<{ name: string }>`
      select table_name as name from information_schema.tables where table_schema = 'public'`.execute(tx);
    for (const { name } of tables.rows.filter((table) => table.name !== VERSIONS)) {
      for (const row of source.prepare<[], Record<string, unknown>>(`select * from "${name}"`).all()) {
        const columns = Object.keys(row).map((column) => sql.ref(column));
        const values = Object.values(row).map((value) => sql`${value}`);
        await sql`insert into ${sql.table(name)} (${sql.join(columns)}) overriding system value
          values (${sql.join(values)})`.execute(tx);
      }
    }
  });
  source.close();
  rmSync(path);
  return { url: database.url, remove };
}
