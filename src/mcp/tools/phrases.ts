import type { Action } from '../../connectors/catalog.ts';
import { shippedPhrases } from '../../connectors/shipped-phrases.ts';
import { withPauses } from '../../lib/pauses.ts';
import { tokensOf } from './lexicon.ts';

/** An index of phrases in the words of people, because requests seldom use the words of descriptions. */
export interface Phrases {
  /**
   * Returns a function that returns the similarity of an action's nearest phrase, from 0 (none) to 1 (equal). Phrases of
   * an action also count for actions with the same id in other apps.
   */
  near(stems: ReadonlySet<string>): (action: Action) => number;
}

/** Letters that all forms of a word share at its beginning, and the weight of this beginning; a whole word weighs 1. */
const BEGINNING = 5;
const BEGINNING_WEIGHT = 0.5;
/** A smaller similarity is ignored, because it arises by chance. */
const LEAST = 0.25;
/** Factor on the similarity when the phrase belongs to an action with the same id in another app. */
const OTHER_APP = 0.9;

/** Indexes the phrases of shipped actions. It pauses between them, because there are thousands. */
export async function indexPhrases(actions: Iterable<Action>): Promise<Phrases> {
  const phrases = shippedPhrases();
  const owners: Action[] = [];
  const terms: Map<string, number>[] = [];
  const postings = new Map<string, number[]>();
  for await (const action of withPauses(actions)) {
    const known = phrases.get(`${action.connectorId}.${action.actionId}`) ?? [];
    for (const phrase of [action.name, ...known]) {
      const own = termsOf(tokensOf(phrase).map(({ stem }) => stem));
      for (const term of own.keys()) {
        const list = postings.get(term);
        if (list) list.push(owners.length);
        else postings.set(term, [owners.length]);
      }
      owners.push(action);
      terms.push(own);
    }
  }
  const weightOf = ([term, share]: [string, number]) =>
    share * Math.log(1 + owners.length / (postings.get(term)?.length ?? owners.length));
  const lengthOf = (own: Iterable<[string, number]>) => Math.hypot(...[...own].map(weightOf)) || 1;
  const lengths = terms.map(lengthOf);
  return {
    near(stems) {
      const known = [...termsOf(stems)].filter(([term]) => postings.has(term));
      const length = lengthOf(known);
      const products = new Map<number, number>();
      for (const term of known) {
        const square = weightOf(term) ** 2;
        for (const at of postings.get(term[0]) ?? []) products.set(at, (products.get(at) ?? 0) + square);
      }
      const own = new Map<Action, number>();
      const anywhere = new Map<string, number>();
      for (const [at, product] of products) {
        const nearness = product / (length * (lengths[at] ?? 1));
        const owner = owners[at];
        if (!owner || nearness < LEAST) continue;
        own.set(owner, Math.max(nearness, own.get(owner) ?? 0));
        anywhere.set(owner.actionId, Math.max(nearness, anywhere.get(owner.actionId) ?? 0));
      }
      return (action) => Math.max(own.get(action) ?? 0, OTHER_APP * (anywhere.get(action.actionId) ?? 0));
    },
  };
}

/** Returns stems and their beginnings, with their weights. */
function termsOf(stems: Iterable<string>): Map<string, number> {
  const terms = new Map<string, number>();
  for (const stem of stems) {
    terms.set(stem, 1);
    if (stem.length > BEGINNING) terms.set(`${stem.slice(0, BEGINNING)}~`, BEGINNING_WEIGHT);
  }
  return terms;
}
