import type { Action } from '../../connectors/catalog.ts';
import type { Base } from '../../base.ts';
import { withPauses } from '../../lib/pauses.ts';
import type { Environment } from '../../store/environments.ts';
import { buildIndex, fieldsOf, traitsOf, type ActionIndex } from './action-index.ts';
import { namedApps, type App } from './named-apps.ts';
import { conceptTerm } from './lexicon.ts';
import { indexPhrases } from './phrases.ts';
import { readQuery, type Step } from './query.ts';
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
  /** Ids of connectors that the user is connected to. Their actions rank a little higher. */
  connected?: ReadonlySet<string>;
  /**
   * Gets the words of each step before the actions are ranked. Returns which of them stand for which action, by its name
   * `connector.action`.
   */
  learned?: (steps: readonly (readonly string[])[]) => Promise<ReadonlyMap<string, ReadonlySet<string>>>;
}

/** Returns the best actions for a query among the allowed ones, best first. */
export type SearchActions = (environment: Environment, search: Search) => Promise<Hit[]>;

/** Actions of the index that are ranked again by their traits, for each step. */
const RANKED = 60;
/** A term of fewer actions says no more than one of this many. */
const RARE = 5;
/** Largest bonus for the actions of an app that the step names, or that another step names. */
const APP_FACTOR = 1;
const EARLIER_APP_FACTOR = 0.6;
const LATER_APP_FACTOR = 0.3;
/** Share of the score that the words of the name earn. */
const NAME_SHARE = 0.3;
/** Factor for an action that does another kind of work than the step asks for. */
const OTHER_WORK = 0.65;
/** The same for a step that names no kind of work, which probably reads. */
const UNASKED_WORK = 0.85;
/** Reading one record needs its id, which a step without a number does not have. */
const LIST_FACTOR = 1.1;
const CONNECTED_FACTOR = 1.2;
/** Largest bonus for an action that executions followed after all words of the step. */
const LEARNED_FACTOR = 0.6;
/** Rank of an action without a word of the step that executions followed, relative to the best one. */
const LEARNED_RANK = 0.8;
/** Share of the words that finds such an action. */
const LEARNED_SHARE = 0.5;
/** A phrase that equals the step adds this much; the best score by words is 1. */
const PHRASE_SHARE = 1.2;
/** Least nearness of a phrase to a step that has no word of the index, such as `who is late`. */
const IDIOM_NEARNESS = 0.75;

/** Kinds of work that ask for the same group of actions. */
const GROUPS = [
  ['read', 'list', 'search', 'download'],
  [
    'create',
    'send',
    'forward',
    'reply',
    'upload',
    'share',
    'copy',
    'run',
    'retry',
    'schedule',
    'invite',
    'restore',
    'comment',
  ],
  ['update', 'move', 'merge', 'approve', 'archive', 'schedule', 'restore'],
  ['delete', 'cancel', 'revoke', 'archive'],
  ['refund'],
].map((kinds) => new Set(kinds.map(conceptTerm)));
const LOOKS = new Set(GROUPS[0]);

/** Creates the search of the catalogue. The first search builds the index, and a changed catalogue rebuilds it. */
export function createActionSearch({ catalog }: Pick<Base, 'catalog'>): SearchActions {
  const indexes = new Map<Environment, ActionIndex>();

  const builtFor = async (environment: Environment): Promise<ActionIndex> => {
    const current = () => {
      const known = indexes.get(environment);
      return known?.version === catalog.version ? known : undefined;
    };
    const ready = current();
    if (ready) return ready;
    const shipped: Action[] = [];
    for (const connector of catalog.connectors(environment)) {
      for await (const action of withPauses(connector.actions.values())) fieldsOf(connector, action);
      if (!connector.custom) shipped.push(...connector.actions.values());
    }
    const phrases = await indexPhrases(shipped);
    const built = current();
    if (built) return built;
    indexes.get(environment)?.index.close();
    const fresh = buildIndex(catalog.connectors(environment), { version: catalog.version, phrases });
    indexes.set(environment, fresh);
    return fresh;
  };

  return async (environment, search) => {
    const built = await builtFor(environment);
    const steps = readQuery(search.query, built.known);
    const among = search.allowed.map((action) => built.ids.get(action)).filter((id) => id !== undefined);
    const named = steps.map(({ words }) => namedApps(words, built.apps));
    const words = steps.length > 0 ? steps.map(({ content }) => content) : [parseText(search.query).stems];
    const learned = (await search.learned?.(words)) ?? new Map<string, ReadonlySet<string>>();
    const lists = words.map((content, at) => {
      const step = steps[at];
      const scored = step
        ? ranked(built, { step, among, favoured: favouredBy(named, at), connected: search.connected })
        : [];
      return byExperience(scored, { content, learned, allowed: search.allowed });
    });
    return interleaved(lists, search.limit);
  };
}

/** Returns the actions for one step, best first. */
function ranked(
  { index, actions, counts, phrases }: ActionIndex,
  {
    step,
    among,
    favoured,
    connected,
  }: {
    step: Step;
    among: readonly number[];
    favoured: ReadonlyMap<number, number>;
    connected: ReadonlySet<string> | undefined;
  },
): Scored[] {
  const terms = step.terms.map(({ term, group, weight }) => ({
    term,
    group,
    weight: weight * Math.log(1 + actions.length / Math.max(RARE, counts.get(term) ?? 0)),
  }));
  const wanted = new Set(step.terms.map(({ term }) => term));
  const found = index.search({ terms, among, favoured, limit: RANKED });
  const best = found[0]?.score ?? 1;
  const scores = new Map<Action, number>();
  for (const { id, score } of found) {
    const action = actions[id];
    if (action) scores.set(action, (score / best) * nameFit(action, step, wanted) * workFit(action, step));
  }
  const near = phrases.near(step.said);
  for (const id of among) {
    const action = actions[id];
    const nearness = action ? near(action) : 0;
    if (!action || nearness === 0) continue;
    // A phrase that is nearly equal says much, and one that shares a word says little.
    const gain =
      PHRASE_SHARE *
      nearness ** 2 *
      (favoured.get(id) ?? 1) *
      (step.works.size > 0 ? workFit(action, step) ** 2 : 1);
    const isNear = step.terms.length > 0 || nearness >= IDIOM_NEARNESS;
    if (isNear) scores.set(action, (scores.get(action) ?? 0) + gain);
  }
  return [...scores]
    .map(([action, score]) => ({ action, score: score * bonus(action, connected) }))
    .sort((a, b) => b.score - a.score);
}

interface Scored {
  action: Action;
  score: number;
}

/**
 * Returns the actions by their scores and by the executions that followed the same words earlier. It adds only allowed
 * actions.
 */
function byExperience(
  scored: readonly Scored[],
  {
    content,
    learned,
    allowed,
  }: {
    content: readonly string[];
    learned: ReadonlyMap<string, ReadonlySet<string>>;
    allowed: readonly Action[];
  },
): Action[] {
  if (learned.size === 0) return scored.map(({ action }) => action);
  const shareOf = ({ connectorId, actionId }: Action) => {
    const words = learned.get(`${connectorId}.${actionId}`);
    return words ? content.filter((word) => words.has(word)).length / Math.max(1, content.length) : 0;
  };
  const found = new Set(scored.map(({ action }) => action));
  const best = scored[0]?.score ?? 1;
  const further = allowed
    .map((action) => ({ action, share: found.has(action) ? 0 : shareOf(action) }))
    .filter(({ share }) => share >= LEARNED_SHARE)
    .map(({ action, share }) => ({ action, score: best * share * LEARNED_RANK }));
  return [
    ...scored.map(({ action, score }) => ({ action, score: score * (1 + LEARNED_FACTOR * shareOf(action)) })),
    ...further,
  ]
    .sort((a, b) => b.score - a.score)
    .map(({ action }) => action);
}

/** Returns a factor by the part of the action's name that the step asks for. */
function nameFit(action: Action, step: Step, wanted: ReadonlySet<string>): number {
  const { name, isList } = traitsOf(action);
  const { asks, groups } = askedBy(step);
  const isAsked = (term: string) => wanted.has(term) || groups.some((group) => group.has(term));
  const asked = name.filter((terms) => terms.some(isAsked)).length;
  const hasId = [...step.words].some((word) => /\d/.test(word));
  const looks = [...asks].every((work) => LOOKS.has(work));
  return (
    (1 - NAME_SHARE + (NAME_SHARE * asked) / Math.max(1, name.length)) *
    (looks && step.hasThing && isList && !hasId ? LIST_FACTOR : 1)
  );
}

/** Returns a factor by the kind of work of the action. */
function workFit(action: Action, step: Step): number {
  const { groups } = askedBy(step);
  const { works } = traitsOf(action);
  if (groups.length === 0 || groups.some((group) => [...works].some((work) => group.has(work)))) return 1;
  return step.works.size > 0 || step.reads ? OTHER_WORK : UNASKED_WORK;
}

function askedBy({ works }: Step): { asks: ReadonlySet<string>; groups: readonly ReadonlySet<string>[] } {
  const asks = works.size > 0 ? works : LOOKS;
  return { asks, groups: GROUPS.filter((group) => [...asks].some((work) => group.has(work))) };
}

function bonus({ connectorId }: Action, connected: ReadonlySet<string> | undefined): number {
  return connected?.has(connectorId) ? CONNECTED_FACTOR : 1;
}

/** Returns the factors of the actions of the apps that a step names. Without a name, those of another step count. */
function favouredBy(named: readonly ReadonlyMap<App, number>[], at: number): Map<number, number> {
  const own = named[at] ?? new Map<App, number>();
  const earlier = named.slice(0, at).findLast((apps) => apps.size > 0);
  const later = named.slice(at + 1).find((apps) => apps.size > 0);
  const [apps, factor] =
    own.size > 0
      ? [own, APP_FACTOR]
      : earlier
        ? [earlier, EARLIER_APP_FACTOR]
        : [later ?? own, LATER_APP_FACTOR];
  return new Map([...apps].flatMap(([{ ids }, share]) => ids.map((id) => [id, 1 + factor * share])));
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
