import { sql } from 'kysely';
import type { DbOrTx, Tables } from '../store/schema.ts';

const PAGE = 1000;

/** Yields the links of all chains in a table, chain after chain, each from its first link. */
export async function* chainLinks<Table extends 'audit' | 'execution_batches'>(
  db: DbOrTx,
  table: Table,
): AsyncGenerator<Tables[Table]> {
  let after: Pick<Tables['audit'], 'chain_id' | 'sequence'> = { chain_id: '', sequence: 0 };
  for (;;) {
    const { rows } = await sql<Tables[Table]>`
      select * from ${sql.table(table)}
      where chain_id is not null and (chain_id, sequence) > (${after.chain_id}, ${after.sequence})
      order by chain_id, sequence limit ${PAGE}`.execute(db);
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = last;
  }
}
