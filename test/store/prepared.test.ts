import type { Selectable } from 'kysely';
import { expect, test, describe } from 'vitest';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-database.ts';
import { manyRows } from '../../src/store/prepared.ts';
import type { Tables } from '../../src/store/schema.ts';
import { freshDatabase, STORE_KINDS } from '../support/stores.ts';

describe.each(STORE_KINDS)('on %s', (kind) => {
  test('rows whose members come in another order are stored right', async () => {
    const { database, remove } = await freshDatabase(kind);
    const store = await openStore(database);
    await migrate(store, 1);
    const insert = manyRows((db, rows: Selectable<Tables['idempotency']>[]) =>
      db.insertInto('idempotency').values(rows),
    );
    const rest = { state: 'done' as const, status: null, body: null };
    const first = { key_hash: 'a', request_hash: 'x', ...rest, lease_until: 1, expires_at: 2 };
    const second = { expires_at: 4, lease_until: 3, ...rest, request_hash: 'y', key_hash: 'b' };
    for (const row of [first, second])
      await store.db.transaction().execute((tx) => insert(store.db, tx, [row]));
    const stored = await store.db.selectFrom('idempotency').selectAll().orderBy('key_hash').execute();
    await store.close();
    await remove();
    expect(stored).toEqual([first, second]);
  });
});
