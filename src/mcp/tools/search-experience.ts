import { learnedWords, type LearnedWords } from '../../actions/learned-words.ts';
import { normalisedQuery } from '../../actions/query-text.ts';
import { contributorOf, followOthers, followSearches, noteSearch } from '../../actions/searches.ts';
import { readSettings } from '../../servers/environment-settings.ts';
import type { Hit } from '../../search/action-search.ts';
import type { ToolScope } from '../scope/tool.ts';

/** The learned words for one search, and the record of that search. */
interface Experience {
  /** Returns the learned words of actions; see SearchActions. A failure is logged, and the result is empty. */
  learned(steps: readonly (readonly string[])[]): Promise<LearnedWords>;
  /** Stores the search with its hits. A failure is only logged, because the search itself has succeeded. */
  note(hits: readonly Hit[]): Promise<void>;
}

/** Returns the experience for a query; undefined where the setting `searchLearning` is off. */
export async function openExperience(scope: ToolScope, query: string): Promise<Experience | undefined> {
  const { context, grant } = scope;
  const { environment, userId, caller, live } = grant;
  const settings = await readSettings(context.db, environment);
  if (settings.searchLearning === 'off') return undefined;
  const searcher = { environment, serverId: live.server.serverId, userId, caller };
  const text = normalisedQuery(query);
  const kept = text.split(' ');
  let words: (readonly string[])[] = [];
  return {
    async learned(steps) {
      // Words that the stored query leaves out, such as addresses, are not stored either.
      words = steps.map((stems) => stems.filter((stem) => isIn(kept, stem)));
      try {
        await followSearches(context, searcher);
        await followOthers(context, environment);
        return await learnedWords(context.db, {
          environment,
          contributor: contributorOf(context, searcher),
          words: words.flat(),
          now: context.clock.now(),
        });
      } catch (err) {
        context.log.warn({ err, requestId: scope.requestId }, 'experience of searches not read');
        return new Map();
      }
    },
    async note(hits) {
      if (text === '') return;
      const found = hits.map(({ action: { connectorId, actionId }, step = 1 }) => [
        `${connectorId}.${actionId}`,
        step - 1,
      ]);
      try {
        await noteSearch(context, searcher, { query: text, words, hits: Object.fromEntries(found) });
      } catch (err) {
        context.log.warn({ err, requestId: scope.requestId }, 'search not noted');
      }
    },
  };
}

/** Returns whether a stem belongs to one of the words. The last two letters of the stem may differ. */
function isIn(words: readonly string[], stem: string): boolean {
  const begin = stem.slice(0, Math.max(3, stem.length - 2));
  return words.some((word) => word.startsWith(begin));
}
