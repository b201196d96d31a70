import { DAY } from '../lib/clock.ts';
import { newOrderedId } from '../lib/ids.ts';
import { sql } from 'kysely';
import { MAX_OFFSET, readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { Environment } from '../store/environments.ts';
import type { DbOrTx, Tables, Tx } from '../store/schema.ts';

/** How long a query is stored after it was last asked. */
export const FRUITLESS_TTL_MS = 90 * DAY;
/** Queries that an environment stores. A further query replaces the one that was asked least often. */
const MAX_QUERIES = 10_000;
/** Least number of times that a shown query was asked. A query that was asked once may hold private text. */
const LEAST_ASKED = 2;

type Search = Pick<Tables['searches'], 'environment' | 'query' | 'at'>;

/** Counts a search that no execution followed. */
export async function noteFruitless(tx: Tx, { environment, query, at }: Search): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('fruitless_searches')
    .set((e) => ({ count: e('count', '+', 1), last_at: at }))
    .where('environment', '=', environment)
    .where('query', '=', query)
    .executeTakeFirst();
  if (numUpdatedRows > 0n) return;
  const { count } = await tx
    .selectFrom('fruitless_searches')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('environment', '=', environment)
    .executeTakeFirstOrThrow();
  if (Number(count) >= MAX_QUERIES)
    await sql`delete from fruitless_searches where search_id in (select search_id from fruitless_searches
      where environment = ${environment} order by count, last_at limit 1)`.execute(tx);
  await tx
    .insertInto('fruitless_searches')
    .values({ search_id: newOrderedId('sea', at), environment, query, count: 1, last_at: at })
    .onConflict((c) =>
      c.columns(['environment', 'query']).doUpdateSet({
        count: sql<number>`fruitless_searches.count + 1`,
        last_at: at,
      }),
    )
    .execute();
}

/** Removes a query that led to an execution. */
export async function removeFruitless(tx: Tx, { environment, query }: Search): Promise<void> {
  await tx
    .deleteFrom('fruitless_searches')
    .where('environment', '=', environment)
    .where('query', '=', query)
    .execute();
}

const ORDER: ListOrder = {
  columns: { last_at: 'whole', search_id: 'id' },
  direction: 'desc',
  maxOffset: MAX_OFFSET,
};

/**
 * Returns a page of the queries that were asked at least twice and led to no execution, the most recent one first.
 * @throws GatehouseError `invalid_request` for an offset beyond 10,000.
 */
export async function listFruitless(
  db: DbOrTx,
  environment: Environment,
  page: PageRequest,
): Promise<PageEnd & { queries: Tables['fruitless_searches'][] }> {
  const query = db
    .selectFrom('fruitless_searches')
    .selectAll()
    .where('environment', '=', environment)
    .where('count', '>=', LEAST_ASKED);
  const { rows: queries, ...end } = await readPage(query, ORDER, page);
  return { queries, ...end };
}
