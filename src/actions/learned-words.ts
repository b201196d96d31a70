import { sql } from 'kysely';
import { DAY } from '../lib/clock.ts';
import type { Environment } from '../store/environments.ts';
import type { Db, Tx } from '../store/schema.ts';

/** How long a count is kept. */
export const LEARNED_TTL_MS = 90 * DAY;
/** Executions after which a word counts as learned for an action. */
const ENOUGH = 5;
/** Executions of one contributor that count for others, because one user alone must not change their ranking. */
const MOST_FOR_OTHERS = 2;
/** Rows of one word and action. They are more than ENOUGH, so further rows would change nothing. */
const MAX_ROWS = 100;
/** Counts that one contributor adds in a day. */
const MAX_A_DAY = 300;
const MAX_WORDS = 12;
/** Words of a query that are looked up. */
const MOST_ASKED = 50;

interface Followed {
  environment: Environment;
  contributor: string;
  words: readonly string[];
  connectorId: string;
  actionId: string;
  now: number;
}

/** Counts an execution for the words of the search before it. */
export async function countFollowed(tx: Tx, followed: Followed): Promise<void> {
  const { environment, contributor, connectorId, actionId, now } = followed;
  const day = now - (now % DAY);
  const today = await tx
    .selectFrom('search_words')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('contributor', '=', contributor)
    .where('day', '=', day)
    .executeTakeFirstOrThrow();
  let left = MAX_A_DAY - Number(today.count);
  for (const word of new Set(followed.words.slice(0, MAX_WORDS))) {
    if (left <= 0) return;
    const rows = await tx
      .selectFrom('search_words')
      .select(['contributor', 'count'])
      .where('environment', '=', environment)
      .where('word', '=', word)
      .where('connector_id', '=', connectorId)
      .where('action_id', '=', actionId)
      .where('day', '>', now - LEARNED_TTL_MS)
      .limit(MAX_ROWS)
      .execute();
    const own = rows.filter((row) => row.contributor === contributor);
    if (rows.length >= MAX_ROWS || own.reduce((sum, { count }) => sum + count, 0) >= ENOUGH) continue;
    left -= 1;
    await tx
      .insertInto('search_words')
      .values({
        environment,
        word,
        connector_id: connectorId,
        action_id: actionId,
        contributor,
        day,
        count: 1,
      })
      .onConflict((c) =>
        c
          .columns(['environment', 'word', 'connector_id', 'action_id', 'contributor', 'day'])
          .doUpdateSet({ count: sql<number>`search_words.count + 1` }),
      )
      .execute();
  }
}

/** The learned words of actions, by the action's name `connector.action`. */
export type LearnedWords = ReadonlyMap<string, ReadonlySet<string>>;

/** Returns the actions that were executed often enough after searches with these words, and those words. */
export async function learnedWords(
  db: Db,
  {
    environment,
    contributor,
    words,
    now,
  }: { environment: Environment; contributor: string; words: readonly string[]; now: number },
): Promise<LearnedWords> {
  const learned = new Map<string, Set<string>>();
  if (words.length === 0) return learned;
  const { rows } = await sql<{ word: string; connector_id: string; action_id: string }>`
    select word, connector_id, action_id from (
      select word, connector_id, action_id, contributor, sum(count) as own from search_words
      where environment = ${environment} and word in (${sql.join([...new Set(words)].slice(0, MOST_ASKED))})
        and day > ${now - LEARNED_TTL_MS}
      group by word, connector_id, action_id, contributor
    ) as counted
    group by word, connector_id, action_id
    having sum(case when contributor = ${contributor} or own < ${MOST_FOR_OTHERS} then own else ${MOST_FOR_OTHERS} end)
      >= ${ENOUGH}`.execute(db);
  for (const { word, connector_id, action_id } of rows) {
    const name = `${connector_id}.${action_id}`;
    learned.set(name, (learned.get(name) ?? new Set()).add(word));
  }
  return learned;
}
