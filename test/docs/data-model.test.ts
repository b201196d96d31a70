import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-database.ts';
import { freshDatabase } from '../support/stores.ts';

const PAGE = readFileSync(resolve(import.meta.dirname, '../../docs/data-model.md'), 'utf8');

test('docs/data-model.md has a section for each table, and for no other', async () => {
  const fresh = await freshDatabase('sqlite');
  try {
    await using store = await openStore(fresh.database);
    await migrate(store, 1);
    const tables = (await store.db.introspection.getTables()).map(({ name }) => name).sort();
    const sections = [...PAGE.matchAll(/^### `(\w+)`$/gm)].map(([, name]) => name).sort();
    expect(sections).toEqual(tables);
  } finally {
    await fresh.remove();
  }
});

test('docs/data-model.md names the owner of each row that a foreign key deletes', async () => {
  const fresh = await freshDatabase('sqlite');
  try {
    await using store = await openStore(fresh.database);
    await migrate(store, 1);
    const { rows } = await sql<{ child: string; parent: string }>`
      select m.name as child, f."table" as parent from sqlite_master m, pragma_foreign_key_list(m.name) f
      where m.type = 'table' and f.on_delete = 'CASCADE'`.execute(store.db);
    const missing = rows.filter(
      ({ child, parent }) => !deletedWith(child).includes(OWNERS[parent] ?? parent),
    );
    expect(missing).toEqual([]);
    expect(rows.length).toBeGreaterThan(20);
  } finally {
    await fresh.remove();
  }
});

/** Names of the owners in the text of the page. */
const OWNERS: Record<string, string> = {
  users: 'user',
  credentials: 'credential',
  connect_sessions: 'connect session',
  servers: 'server',
  executions: 'execution',
  results: 'result',
  files: 'file',
  sources: 'source',
  subscriptions: 'subscription',
  events: 'event',
  deliveries: 'delivery',
  workflows: 'workflow',
  workflow_runs: 'run',
};

/** Returns the sentence "Deleted with" of the section of a table. */
function deletedWith(table: string): string {
  const [, section = ''] = PAGE.split(`### \`${table}\`\n`);
  return /^- Deleted with: (.*)$/m.exec(section.split('\n##')[0] ?? '')?.[1] ?? '';
}
