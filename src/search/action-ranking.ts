import type { LearnedWords } from '../actions/learned-words.ts';
import type { Action } from '../connectors/catalog.ts';
import type { Connected } from '../credentials/memory.ts';
import { isAbout, traitsOf, type ActionIndex } from './action-index.ts';
import { LOOKS } from './query-clauses.ts';
import { conceptTerm } from './lexicon.ts';
import type { Step } from './query.ts';
import { termWeight } from './term-weight.ts';

/** Actions of the index that are ranked again by their traits, for each step. */
export const RANKED = 60;
/** Part of the score that depends on how many words of the action's name the step has. */
const NAME_SHARE = 0.3;
/** Factor for an action that does another kind of work than the step asks for. */
const OTHER_WORK = 0.65;
/** Factor for an action that changes something, when the step names no kind of work and so probably reads. */
const UNASKED_WORK = 0.85;
/** Factor for a list when the step names no id, because reading one record needs its id. */
const LIST_FACTOR = 1.1;
/** Factor for a list of nothing but the named things when the step asks for all or for the newest ones. */
const WHOLE_FACTOR = 1.3;
/** Factor for an action of an app that the user is connected to. */
const CONNECTED_FACTOR = 1.2;
/** Bonus for an action for which earlier executions taught all words of the step. */
const LEARNED_FACTOR = 0.6;
/** Score of an action that only learned words find, relative to the best score. */
const LEARNED_RANK = 0.8;
/** Least part of the step's words that must be learned for such an action. */
const LEARNED_SHARE = 0.5;
/**
 * Weight of the score by phrases, relative to that by words: the least one for a step of 3 words, such as `list the orders`,
 * and the most for one of 7. A longer step says the wish in the words of people.
 */
const PHRASE_WEIGHT = { least: 0.5, most: 1.8, from: 3, to: 7 };
/** Least fit of the phrases to a step that has no word of the index, such as `who is late`. */
const IDIOM_FIT = 0.2;
/** Least fit of its phrases for an action that has no word of the step but its kind of work, by whether it reads. */
const LEAST_FIT = { read: 0.06, write: 0.08 };
/** Least fit of its phrases for a destructive action whose kind of work the step does not name. */
const DESTRUCTIVE_FIT = 0.07;
/** Actions with the same id that keep their places when a request names no app. */
const EQUAL_IDS = 2;

const LIST = conceptTerm('list');
const WRITES = [
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
/** Groups of kinds of work. A step that asks for one kind also finds the others of its group. */
const GROUPS = [LOOKS, ...WRITES];

/** A step, and the actions to choose from. */
interface Choice {
  step: Step;
  /** Numbers of the allowed actions. */
  among: readonly number[];
  /** Factors of the actions of a named app, by number. */
  favoured: ReadonlyMap<number, number>;
  /** Ids of connectors that the user is connected to. */
  connected: Connected | undefined;
}

/**
 * Returns the actions for one step, best first, without those that fit it weakly. The scores by words and by phrases have the
 * same scale. A step that only reads finds reading actions first, and none that destroys.
 */
export function ranked(built: ActionIndex, choice: Choice): Scored[] {
  const { step } = choice;
  const fits = built.phrases.fit(step);
  const scores = relative(scoresByWords(built, choice));
  const weight = phraseWeight(step);
  for (const [action, score] of relative(scoresByPhrases(built, { ...choice, fits })))
    scores.set(action, (scores.get(action) ?? 0) + weight * score);
  const isWanted = offersFor(built, { ...choice, fits });
  const writesLast = ({ action }: Scored) => Number(step.asks && action.effect !== 'read');
  return [...scores]
    .filter(([action]) => isWanted(action))
    .map(([action, score]) => ({ action, score: score * bonus(action, choice.connected) }))
    .sort((a, b) => writesLast(a) - writesLast(b) || b.score - a.score);
}

/** Returns whether an action is offered for a step: its fit is not weak, and it destroys only what the step asks to destroy. */
function offersFor(
  { ids }: ActionIndex,
  { step, favoured, fits }: Choice & { fits: readonly number[] },
): (action: Action) => boolean {
  const { groups } = askedBy(step);
  const terms = new Set(step.terms.flatMap(({ term, isWork }) => (isWork ? [] : [term])));
  return (action) => {
    const id = ids.get(action) ?? -1;
    const fit = fits[id] ?? 0;
    const isWeak = fit < (action.effect === 'read' ? LEAST_FIT.read : LEAST_FIT.write);
    if (isWeak && !step.isBare && !favoured.has(id) && !isAbout(action, terms)) return false;
    if (action.effect !== 'destructive') return true;
    if (step.reads || step.asks) return false;
    const { works } = traitsOf(action);
    const isAsked = step.works.size > 0 && groups.some((group) => [...works].some((work) => group.has(work)));
    return isAsked || fit >= DESTRUCTIVE_FIT;
  };
}

function scoresByWords(
  { index, actions, counts }: ActionIndex,
  { step, among, favoured }: Choice,
): Map<Action, number> {
  const terms = step.terms.map(({ term, group, weight }) => ({
    term,
    group,
    weight: weight * termWeight(actions.length, counts.get(term) ?? 0),
  }));
  const asked = askedBy(step);
  const scores = new Map<Action, number>();
  for (const { id, score } of index.search({ terms, among, favoured, limit: RANKED })) {
    const action = actions[id];
    if (action) scores.set(action, score * nameFit(action, asked) * workFit(action, asked));
  }
  return scores;
}

function scoresByPhrases(
  { actions }: ActionIndex,
  { step, among, favoured, fits }: Choice & { fits: readonly number[] },
): Map<Action, number> {
  const least = step.terms.length > 0 ? 0 : IDIOM_FIT;
  const scores = new Map<Action, number>();
  for (const id of among) {
    const action = actions[id];
    const fit = fits[id] ?? 0;
    if (action && fit > least) scores.set(action, fit * (favoured.get(id) ?? 1));
  }
  return scores;
}

function phraseWeight({ said }: Step): number {
  const { least, most, from, to } = PHRASE_WEIGHT;
  const share = Math.min(1, Math.max(0, (said.size - from) / (to - from)));
  return least + (most - least) * share;
}

/** Returns the scores relative to the best one. */
function relative(scores: ReadonlyMap<Action, number>): Map<Action, number> {
  const best = [...scores.values()].reduce((most, score) => Math.max(most, score), 0);
  return new Map([...scores].map(([action, score]) => [action, score / best]));
}

/** An action and its score. */
export interface Scored {
  action: Action;
  score: number;
}

/**
 * Returns the actions ordered by their scores and by learned words. Adds allowed actions that only learned words find.
 */
export function byExperience(
  scored: readonly Scored[],
  {
    content,
    learned,
    allowed,
  }: {
    content: readonly string[];
    learned: LearnedWords;
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

/**
 * Returns the actions with the third and later ones of the same id last, except those of connected apps. A request that names
 * no app would otherwise find little else than one action of many apps.
 */
export function repeatedLast(actions: readonly Action[], connected: Connected | undefined): Action[] {
  const seen = new Map<string, number>();
  const isRepeated = actions.map(({ connectorId, actionId }) => {
    const earlier = seen.get(actionId) ?? 0;
    seen.set(actionId, earlier + 1);
    return earlier >= EQUAL_IDS && !connected?.has(connectorId);
  });
  return [...actions.filter((_, at) => !isRepeated[at]), ...actions.filter((_, at) => isRepeated[at])];
}

/** A step, prepared for the comparison with the traits of actions. */
interface Asked {
  step: Step;
  /** Groups of the kinds of work that it asks for. */
  groups: readonly ReadonlySet<string>[];
  /** Whether it only reads, names a kind of thing, and names no thing by an id. */
  looksForThings: boolean;
  terms: ReadonlySet<string>;
}

function askedBy(step: Step): Asked {
  const works = step.works.size > 0 ? step.works : LOOKS;
  const hasId = [...step.words].some((word) => /\d/.test(word));
  return {
    step,
    groups: GROUPS.filter((group) => [...works].some((work) => group.has(work))),
    looksForThings: step.hasThing && !hasId && [...works].every((work) => LOOKS.has(work)),
    terms: new Set(step.terms.map(({ term }) => term)),
  };
}

/** Returns a factor by how many words of the action's name the step asks for. */
function nameFit(action: Action, { step, terms, groups, looksForThings }: Asked): number {
  const { name, isList } = traitsOf(action);
  const isAsked = (term: string) => terms.has(term) || groups.some((group) => group.has(term));
  const asked = name.filter((words) => words.some(isAsked)).length;
  const share = 1 - NAME_SHARE + (NAME_SHARE * asked) / Math.max(1, name.length);
  if (!looksForThings || !isList) return share;
  const wantsList = step.works.has(LIST);
  return share * LIST_FACTOR * (wantsList && asked === name.length ? WHOLE_FACTOR : 1);
}

/** Returns a factor by the kind of work of the action. */
function workFit(action: Action, { step, groups }: Asked): number {
  const { works } = traitsOf(action);
  if (groups.length === 0 || groups.some((group) => [...works].some((work) => group.has(work)))) return 1;
  return step.works.size > 0 || step.reads ? OTHER_WORK : UNASKED_WORK;
}

function bonus({ connectorId }: Action, connected: Connected | undefined): number {
  return connected?.has(connectorId) ? CONNECTED_FACTOR : 1;
}
