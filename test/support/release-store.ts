import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { load } from '../../src/backup/load-backup.ts';
import { openBackup } from '../../src/backup/open-backup.ts';
import { newMasterKeyFile } from '../../src/crypto/master-key-file.ts';
import { migrateWithin } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-database.ts';
import type { Config } from '../../src/config.ts';
import { freshDatabase, type StoreKind } from './stores.ts';

const FOLDER = join(import.meta.dirname, '../fixtures/release-0.2.0');

/** Ids and secrets of the store, which test/store/fill-release.ts writes. */
export const facts = z.object({
  developmentKey: z.string(),
  userId: z.string(),
  connectionId: z.string(),
  serverId: z.string(),
  serverPath: z.string(),
  subscriptionId: z.string(),
  webhookSecret: z.string(),
  workflowId: z.string(),
});

/** A home with the store of release 0.2.0, at the schema version of that release. */
export interface ReleaseHome extends AsyncDisposable, z.infer<typeof facts> {
  readonly database: Config['database'];
  readonly schemaVersion: number;
  /** Environment of a Gatehouse that opens it. */
  readonly env: Record<string, string>;
}

/** Creates a home with the store of test/fixtures/release-0.2.0, on either database. No later migration has run. */
export async function releaseHome(kind: StoreKind): Promise<ReleaseHome> {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-release-'));
  const { database, remove } =
    kind === 'postgres'
      ? await freshDatabase('postgres', { empty: true })
      : { database: { kind, path: join(home, 'gatehouse.db') }, remove: async () => {} };
  const dump = await openBackup(join(FOLDER, 'store.backup'), undefined);
  const { schemaVersion, masterKeys = [] } = dump.header;
  await using store = await openStore(database);
  await store.db.transaction().execute(async (tx) => {
    await migrateWithin(tx, { now: 0, upTo: schemaVersion });
    await load(tx, dump, () => {});
  });
  newMasterKeyFile(join(home, 'master.key'), masterKeys);
  return {
    ...facts.parse(JSON.parse(readFileSync(join(FOLDER, 'facts.json'), 'utf8'))),
    database,
    schemaVersion,
    env: { GATEHOUSE_HOME: home, ...(database.kind === 'postgres' ? { DATABASE_URL: database.url } : {}) },
    async [Symbol.asyncDispose]() {
      await remove();
      rmSync(home, { recursive: true });
    },
  };
}
