import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openStore } from '../../src/store/open-database.ts';
import { cliEnv, runCli, tempHome } from '../support/cli.ts';
import { freshDatabase, STORE_KINDS } from '../support/stores.ts';

const REFUSAL =
  'The database is of a Gatehouse before 0.2.0, the first release, and cannot be migrated: move it and the folder ' +
  'GATEHOUSE_HOME away, and start with new ones.';

/** Commands that open a store, each with arguments that are valid in a released one. */
const COMMANDS = [
  ['serve'],
  ['migrate'],
  ['keys', 'list'],
  ['stdio', '--server', 'Sandbox'],
  ['connectors', 'list'],
  ['audit', 'verify'],
  ['master-key', 'rotate'],
];

describe.each(STORE_KINDS)('on %s', (kind) => {
  let home: ReturnType<typeof tempHome>;
  let remove: () => Promise<void>;
  let env: Record<string, string>;

  beforeEach(async () => {
    home = tempHome();
    const fresh = kind === 'postgres' ? await freshDatabase(kind, { empty: true }) : undefined;
    remove = async () => fresh?.remove();
    env = cliEnv(home.path, fresh?.database.kind === 'postgres' ? { DATABASE_URL: fresh.database.url } : {});
    await makeUnreleased(env);
  });
  afterEach(async () => {
    await remove();
    home[Symbol.dispose]();
  });

  test.each(COMMANDS)('gatehouse %s refuses an unreleased store in one sentence', async (...args) => {
    const { code, out, err } = await runCli(args, env);
    expect([code, out, err]).toEqual([1, '', `gatehouse: ${REFUSAL}\n`]);
  });

  test('gatehouse backup refuses an unreleased store', async () => {
    const file = join(home.path, 'store.backup');
    const { code, err } = await runCli(['backup', file], env);
    expect([code, err]).toEqual([1, `gatehouse: ${REFUSAL}\n`]);
    expect(existsSync(file)).toBe(false);
  });

  test('gatehouse doctor reports an unreleased store as a failure', async () => {
    const { code, out } = await runCli(['doctor', '--json'], env);
    const { findings } = JSON.parse(out) as { findings: { name: string }[] };
    expect(code).toBe(1);
    expect(findings.filter(({ name }) => name === 'database')).toEqual([
      { name: 'database', state: 'fail', found: REFUSAL },
    ]);
  });
});

test.each(STORE_KINDS)('a backup from before the first release is refused, on %s', async (kind) => {
  using home = tempHome({ bare: true });
  using files = tempHome({ bare: true });
  const file = join(files.path, 'store.backup');
  const about = { release: '0.1.0', schemaVersion: 58, database: kind, at: '2026-11-28T12:00:00.000Z' };
  writeFileSync(file, `${JSON.stringify({ gatehouse: 'store', format: 1, ...about })}\n`);
  const { database, remove } = await freshDatabase(kind, { empty: true });
  try {
    const env = cliEnv(home.path, database.kind === 'postgres' ? { DATABASE_URL: database.url } : {});
    const { code, out, err } = await runCli(['restore', file], env);
    expect([code, out, err]).toEqual([
      1,
      '',
      'gatehouse: The backup is of a Gatehouse before 0.2.0, the first release (0.1.0), and cannot be restored: start ' +
        'with an empty home, or restore it with the program that wrote it.\n',
    ]);
  } finally {
    await remove();
  }
});

/** Creates the tables that a start reads first, with the names of the first migrations of then. */
async function makeUnreleased(env: Record<string, string>): Promise<void> {
  await using store = await openStore(readConfig(env).database);
  const { db } = store;
  await db.schema
    .createTable('schema_versions')
    .addColumn('version', 'integer', (c) => c.primaryKey())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('applied_at', 'bigint', (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('secrets')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .execute();
  const versions = ['foundation', 'accounts'].map((name, at) => ({ version: at + 1, name, applied_at: 1 }));
  await db.insertInto('schema_versions').values(versions).execute();
}
