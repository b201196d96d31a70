import type { Selectable } from 'kysely';
import { expect, test, describe } from 'vitest';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-database.ts';
import { manyRows } from '../../src/store/prepared.ts';
import type { Tables } from '../../src/store/schema.ts';
import { freshDatabase, STORE_KINDS } from '../support/stores.ts';

describe.each(STORE_KINDS)('on %s', (kind) => {
  test('rows whose members come in another order than those of an earlier insert are stored right', async () => {
    const { database, remove } = await freshDatabase(kind);
    const store = await openStore(database);
    await migrate(store, 1);
    const insert = manyRows((db, rows: Selectable<Tables['seen']>[]) => db.insertInto('seen').values(rows));
    const first = { source_id: 's', key: 'a', seen_at: 1, state: 'x', silent: 0 as const };
    const second = { state: 'y', silent: 0 as const, key: 'b', seen_at: 2, source_id: 's' };
    for (const row of [first, second])
      await store.db.transaction().execute((tx) => insert(store.db, tx, [row]));
    const stored = await store.db.selectFrom('seen').selectAll().orderBy('key').execute();
    await store.close();
    await remove();
    expect(stored).toEqual([first, second]);
  });
});
