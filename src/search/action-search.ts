import type { LearnedWords } from '../actions/learned-words.ts';
import type { Action, ConnectorActions } from '../connectors/catalog.ts';
import type { Base } from '../base.ts';
import type { Connected } from '../credentials/memory.ts';
import { loadOnce } from '../lib/memo.ts';
import { withPauses } from '../lib/pauses.ts';
import type { Environment } from '../store/environments.ts';
import { actionsOf, buildIndex, fieldsOf, type ActionIndex } from './action-index.ts';
import { byExperience, ranked, RANKED, repeatedLast } from './action-ranking.ts';
import { hiddenApps, namedApps, type NamedApp } from './named-apps.ts';
import { withoutOtherApps } from './other-apps.ts';
import { readPhraseTerms } from './phrase-terms.ts';
import { indexPhrases } from './phrases.ts';
import { readQuery } from './query.ts';
import { parseText } from './vocabulary.ts';

/** An action that a search found. */
export interface Hit {
  action: Action;
  /** The step of the request that it fulfils, from 1; undefined for a request of one step. */
  step: number | undefined;
}

interface Search {
  query: string;
  allowed: readonly Action[];
  limit: number;
  /** The connectors that the server shows. */
  visible: readonly ConnectorActions[];
  /** Ids of connectors that the user is connected to. Their actions rank a little higher. */
  connected?: Connected;
  /**
   * Returns the learned words of actions among the words of each step. It is called before the actions are ranked.
   */
  learned?: (steps: readonly (readonly string[])[]) => Promise<LearnedWords>;
}

interface Found {
  /** The best actions among the allowed ones, best first. */
  hits: Hit[];
  /** Names of the apps that the query names and the server does not offer. */
  missing: string[];
}

/** Searches for the actions that a query asks for. */
export type SearchActions = (environment: Environment, search: Search) => Promise<Found>;

/** Largest bonus for the actions of an app that the step names; that an earlier step names; that a later step names. */
const APP_FACTOR = 1;
const EARLIER_APP_FACTOR = 0.6;
const LATER_APP_FACTOR = 0.3;

/** Creates the search of the catalogue. The first search builds the index, and a changed catalogue rebuilds it. */
export function createActionSearch({ catalog }: Pick<Base, 'catalog'>): SearchActions {
  const indexes = new Map<Environment, ActionIndex>();
  const building = new Map<Environment, Promise<void>>();
  const phraseTerms = loadOnce(readPhraseTerms);

  const build = async (environment: Environment): Promise<void> => {
    for (;;) {
      const { version } = catalog;
      const connectors = catalog.connectors(environment);
      // Fills the cache that buildIndex() reads, because buildIndex() has no pauses.
      const pairs = connectors.flatMap((connector) =>
        [...connector.actions.values()].map((action) => ({ connector, action })),
      );
      for await (const { connector, action } of withPauses(pairs)) fieldsOf(connector, action);
      const phrases = await indexPhrases(actionsOf(connectors), await phraseTerms());
      if (catalog.version !== version) continue;
      indexes.get(environment)?.index.close();
      indexes.set(environment, buildIndex(connectors, { version, phrases }));
      return;
    }
  };

  /** Returns the index of today's catalogue. Searches at the same time wait for one build. */
  const builtFor = async (environment: Environment): Promise<ActionIndex> => {
    for (;;) {
      const known = indexes.get(environment);
      if (known?.version === catalog.version) return known;
      const running =
        building.get(environment) ?? build(environment).finally(() => building.delete(environment));
      building.set(environment, running);
      await running;
    }
  };

  return async (environment, search) => {
    const built = await builtFor(environment);
    const { connected, visible } = search;
    const { rest, others } = withoutOtherApps(search.query, visible);
    const steps = readQuery(rest, built.known);
    const among = search.allowed.map((action) => built.ids.get(action)).filter((id) => id !== undefined);
    const named = steps.map(({ words }) => namedApps(words, built.apps));
    const namesApp = named.some((apps) => apps.length > 0);
    const scored = steps.map((step, at) =>
      ranked(built, { step, among, favoured: favouredBy(named, at), connected }),
    );
    const shown = new Set(visible.map(({ connector }) => connector.connectorId));
    const hidden = hiddenApps(named.flat(), { apps: built.apps, shown });
    const words = steps.length > 0 ? steps.map(({ content }) => content) : [parseText(search.query).stems];
    // From here on the index is not used, because a change of the catalogue during the wait closes it.
    const learned = (await search.learned?.(words)) ?? new Map();
    const lists = words.map((content, at) =>
      byExperience(scored[at] ?? [], { content, learned, allowed: search.allowed }),
    );
    const ordered = namesApp ? lists : lists.map((list) => repeatedLast(list, connected));
    return { hits: interleaved(ordered, search.limit), missing: [...new Set([...hidden, ...others])] };
  };
}

/** Returns a factor for each action of the apps that a step names. If it names none, an earlier or later step decides. */
function favouredBy(named: readonly (readonly NamedApp[])[], at: number): Map<number, number> {
  const own = named[at] ?? [];
  const earlier = named.slice(0, at).findLast((apps) => apps.length > 0);
  const later = named.slice(at + 1).find((apps) => apps.length > 0);
  const [apps, factor] =
    own.length > 0
      ? [own, APP_FACTOR]
      : earlier
        ? [earlier, EARLIER_APP_FACTOR]
        : [later ?? own, LATER_APP_FACTOR];
  return new Map(apps.flatMap(({ app, share }) => app.ids.map((id) => [id, 1 + factor * share])));
}

/** Returns the first hit of each step, then the second ones, up to a limit. */
function interleaved(lists: readonly Action[][], limit: number): Hit[] {
  const hits = new Map<Action, Hit>();
  for (let place = 0; place < RANKED && hits.size < limit; place += 1) {
    for (const [at, list] of lists.entries()) {
      const action = list[place];
      if (!action || hits.has(action) || hits.size === limit) continue;
      hits.set(action, { action, step: lists.length > 1 ? at + 1 : undefined });
    }
  }
  return [...hits.values()];
}
