import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { createUser } from '../../src/identity/users.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-database.ts';
import { freshDatabase } from '../support/stores.ts';

test('a SQLite store has statistics of its tables after it is closed', async () => {
  const fresh = await freshDatabase('sqlite');
  try {
    {
      await using store = await openStore(fresh.database);
      await migrate(store, 1);
      const { db } = store;
      const user = { environment: 'development' as const, username: 'ada' };
      await createUser({ db, clock: systemClock }, user);
      await db.selectFrom('users').select('user_id').where('environment', '=', 'development').execute();
    }
    await using store = await openStore(fresh.database);
    const { rows } = await sql<{ tbl: string }>`select distinct tbl from sqlite_stat1`.execute(store.db);
    expect(rows.map(({ tbl }) => tbl)).toContain('users');
  } finally {
    await fresh.remove();
  }
});
