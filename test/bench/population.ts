import { sql, type RawBuilder } from 'kysely';
import type { Db } from '../../src/store/schema.ts';

/**
 * Fills a store with `count` more users, each with a credential and a server like the existing ones. They are never used,
 * because their sealed texts are copies of other rows.
 */
export async function populate(db: Db, count: number): Promise<void> {
  if (count <= 0) return;
  const numbered = (prefix: string) => sql`${sql.lit(prefix)} || n`;
  await copy(db, 'users', count, { user_id: numbered('usr_bench'), username: numbered('other') });
  await copy(db, 'credentials', count, {
    credential_id: numbered('cred_bench'),
    user_id: numbered('usr_bench'),
  });
  await copy(db, 'servers', count, {
    server_id: numbered('srv_bench'),
    name: numbered('other'),
    name_key: numbered('other'),
    owner_user_id: numbered('usr_bench'),
    token_hash: numbered('hash'),
  });
}

/** Copies the first row of a table this often, with numbered values in some columns. */
async function copy(
  db: Db,
  table: 'users' | 'credentials' | 'servers',
  count: number,
  counted: Record<string, RawBuilder<unknown>>,
): Promise<void> {
  const row = await db.selectFrom(table).selectAll().executeTakeFirstOrThrow();
  const columns = Object.keys(row);
  await sql`
    WITH RECURSIVE counter(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counter WHERE n < ${count})
    INSERT INTO ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})
    SELECT ${sql.join(columns.map((column) => counted[column] ?? sql.ref(`one.${column}`)))}
    FROM counter, (SELECT * FROM ${sql.table(table)} LIMIT 1) AS one`.execute(db);
}
