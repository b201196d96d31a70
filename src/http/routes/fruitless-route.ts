import { z } from 'zod';
import { listFruitless } from '../../actions/fruitless-searches.ts';
import { followOthers } from '../../actions/searches.ts';
import { isoTime } from '../../lib/clock.ts';
import { defineRoute } from '../server/route.ts';
import { cursorQuery, pageOf, time, toCursorPage } from '../server/shapes.ts';

/** Callers whose old searches are concluded before the list is read. */
const MOST_CALLERS = 50;

const fruitless = z
  .object({
    query: z
      .string()
      .meta({ description: 'The words in lower case, without addresses and words with digits.' }),
    count: z.int().meta({ description: 'Searches with these words.' }),
    lastAt: time,
  })
  .meta({ id: 'FruitlessSearch', description: 'A query that led to no execution.' });

export const listFruitlessSearchesRoute = defineRoute({
  method: 'GET',
  path: '/api/search/fruitless',
  operationId: 'listFruitlessSearches',
  tag: 'Executions',
  summary: 'List searches that led to no execution',
  description:
    'The last one first. Agents searched for an action at least twice with these words, and ran none within ten minutes. ' +
    'An execution after such a search removes the entry. Entries are stored for 90 days after the last search.',
  auth: 'api_key',
  scope: 'executions:read',
  query: z.strictObject(cursorQuery),
  success: { status: 200, description: 'A page of queries.', schema: pageOf(fruitless) },
  async handler({ context, caller, query }) {
    await followOthers(context, caller.environment, MOST_CALLERS);
    const { queries, ...end } = await listFruitless(context.db, caller.environment, query);
    const data = queries.map((one) => ({
      query: one.query,
      count: one.count,
      lastAt: isoTime(one.last_at),
    }));
    return { body: toCursorPage(data, end) };
  },
});
