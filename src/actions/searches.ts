import { sql } from 'kysely';
import { z } from 'zod';
import type { Base } from '../base.ts';
import { hashToken } from '../crypto/tokens.ts';
import { MINUTE } from '../lib/clock.ts';
import { newOrderedId } from '../lib/ids.ts';
import type { Environment } from '../store/environments.ts';
import { isPostgres } from '../store/prepared.ts';
import type { Db, Tables, Tx } from '../store/schema.ts';
import { noteFruitless, removeFruitless } from './fruitless-searches.ts';
import { countFollowed } from './learned-words.ts';
import type { ExecutionLog } from './executions.ts';

/** Time after a search in which an execution counts as following it. */
const FOLLOW_MS = 10 * MINUTE;
/** Searches of one caller that wait for executions. Further ones are not stored, so that no caller fills the table. */
const MAX_WAITING = 20;
/** Executions of one caller that one look-up reads. */
const MAX_EXECUTIONS = 200;
/** Old searches of other callers that are concluded at each search. */
const MAX_OTHERS = 3;

export type SearchContext = Pick<Base, 'db' | 'clock' | 'hashKey'> & {
  executions: Pick<ExecutionLog, 'flush'>;
};

/** The caller of a search. Only executions of the same caller can follow the search. */
export interface Searcher {
  environment: Environment;
  serverId: string;
  userId: string | undefined;
  /** The caller's label, as in executions. */
  caller: string;
}

/** A search with its result. */
export interface NotedSearch {
  /** See normalisedQuery(). */
  query: string;
  /** The words of each step. */
  words: readonly (readonly string[])[];
  /** Names of the found actions, and the step of each, from 0. */
  hits: Readonly<Record<string, number>>;
}

/** Returns the hash under which counts of a caller are stored, so that they do not name a user. */
export function contributorOf(
  { hashKey }: Pick<Base, 'hashKey'>,
  { environment, userId, caller }: Searcher,
): string {
  return hashToken(hashKey, `search ${environment} ${userId ?? caller}`);
}

/** Stores a search, for a day at most, until it is concluded. */
export async function noteSearch(
  { db, clock }: SearchContext,
  searcher: Searcher,
  search: NotedSearch,
): Promise<void> {
  const now = clock.now();
  const { count } = await ofSearcher(db, searcher)
    .select((e) => e.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  if (Number(count) >= MAX_WAITING) return;
  await db
    .insertInto('searches')
    .values({
      search_id: newOrderedId('sea', now),
      environment: searcher.environment,
      server_id: searcher.serverId,
      user_id: searcher.userId ?? null,
      caller: searcher.caller,
      at: now,
      query: search.query,
      words: JSON.stringify(search.words),
      hits: JSON.stringify(search.hits),
      read_until: now,
      followed: 0,
    })
    .execute();
}

/**
 * Counts the executions that followed the searches of a caller, and concludes its old searches: counts those without an
 * execution as fruitless, and deletes them. It reads the record of executions, so no call of an action waits for it.
 */
export async function followSearches(context: SearchContext, searcher: Searcher): Promise<void> {
  const { db, clock } = context;
  const now = clock.now();
  const waiting = await ofSearcher(db, searcher).select('search_id').executeTakeFirst();
  if (!waiting) return;
  await context.executions.flush();
  await db.transaction().execute(async (tx) => {
    let query = ofSearcher(tx, searcher).selectAll().orderBy('at').orderBy('search_id');
    // Two processes must not count one execution twice. SQLite has one writer.
    if (isPostgres(db)) query = query.forUpdate();
    const searches = await query.execute();
    if (searches.length === 0) return;
    const from = Math.min(...searches.map(({ read_until }) => read_until));
    const executions = await executionsOf(tx, searcher, from);
    for (const execution of executions) {
      const search = searchBefore(searches, execution);
      if (!search) continue;
      search.followed = 1;
      await removeFruitless(tx, search);
      await countFollowed(tx, {
        environment: searcher.environment,
        contributor: contributorOf(context, searcher),
        words: wordsFor(search, nameOf(execution)),
        connectorId: execution.connector_id,
        actionId: execution.action_id,
        now,
      });
    }
    const readUntil = executions.at(-1)?.at ?? from;
    for (const search of searches) await conclude(tx, search, { readUntil, now });
  });
}

/** Concludes old searches of other callers, because a caller that never returns does not conclude its own. */
export async function followOthers(
  context: SearchContext,
  environment: Environment,
  most = MAX_OTHERS,
): Promise<void> {
  const rows = await context.db
    .selectFrom('searches')
    .select(['server_id', 'user_id', 'caller'])
    .where('environment', '=', environment)
    .where('at', '<=', context.clock.now() - FOLLOW_MS)
    .orderBy('at')
    .limit(most)
    .execute();
  for (const row of rows)
    await followSearches(context, {
      environment,
      serverId: row.server_id,
      userId: row.user_id ?? undefined,
      caller: row.caller,
    });
}

type SearchRow = Tables['searches'];
type FollowingCall = Pick<Tables['executions'], 'connector_id' | 'action_id' | 'at'>;

async function conclude(
  tx: Tx,
  search: SearchRow,
  { readUntil, now }: { readUntil: number; now: number },
): Promise<void> {
  const one = tx.updateTable('searches').where('search_id', '=', search.search_id);
  if (search.at + FOLLOW_MS > now) {
    await one
      .set({ read_until: Math.max(search.read_until, readUntil), followed: search.followed })
      .execute();
    return;
  }
  if (search.followed === 0) await noteFruitless(tx, search);
  await tx.deleteFrom('searches').where('search_id', '=', search.search_id).execute();
}

/** Returns the newest earlier search whose hits include the executed action, else the newest earlier search. */
function searchBefore(searches: readonly SearchRow[], execution: FollowingCall): SearchRow | undefined {
  const before = searches.filter(
    ({ at, read_until }) => execution.at > read_until && execution.at <= at + FOLLOW_MS,
  );
  return before.findLast((search) => nameOf(execution) in hitsOf(search)) ?? before.at(-1);
}

/** Returns the words of the step that found the action. If no step of several found it, there are no words. */
function wordsFor(search: SearchRow, name: string): readonly string[] {
  const steps = z.array(z.array(z.string())).parse(JSON.parse(search.words));
  const step = hitsOf(search)[name] ?? (steps.length === 1 ? 0 : -1);
  return steps[step] ?? [];
}

function hitsOf({ hits }: SearchRow): Record<string, number> {
  return z.record(z.string(), z.number()).parse(JSON.parse(hits));
}

function nameOf({ connector_id, action_id }: FollowingCall): string {
  return `${connector_id}.${action_id}`;
}

function ofSearcher(db: Db | Tx, { serverId, userId, caller }: Searcher) {
  return db
    .selectFrom('searches')
    .where('server_id', '=', serverId)
    .where('caller', '=', caller)
    .where('user_id', userId === undefined ? 'is' : '=', userId ?? null);
}

function executionsOf(
  tx: Tx,
  { environment, serverId, userId, caller }: Searcher,
  from: number,
): Promise<FollowingCall[]> {
  let query = tx
    .selectFrom('executions')
    .select(['connector_id', 'action_id', 'at'])
    .where('environment', '=', environment)
    .where('at', '>', from)
    .where(sql`outcome || ''`, '=', 'succeeded')
    .where('caller', '=', caller);
  // `server_id || ''` matches no index. The query then uses the index of the user, who has fewer calls than the server.
  query =
    userId === undefined
      ? query.where('server_id', '=', serverId).where('user_id', 'is', null)
      : query.where('user_id', '=', userId).where(sql`server_id || ''`, '=', serverId);
  return query.orderBy('at').limit(MAX_EXECUTIONS).execute();
}
