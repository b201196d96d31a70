import type { Action } from '../../connectors/catalog.ts';
import { shippedPhrases } from '../../connectors/shipped-phrases.ts';
import { withPauses } from '../../lib/pauses.ts';
import { tokensOf } from './lexicon.ts';

/** An index of phrases of people. A search compares a request with them, because people seldom use a description's words. */
export interface Phrases {
  /**
   * Returns a function that gives how near the nearest phrase of an action is, from 0 to 1. The phrases of an action
   * also stand for actions of that id in other apps.
   */
  near(stems: ReadonlySet<string>): (action: Action) => number;
}

/** Length of the beginning that the forms of a word share, and its weight next to the word. */
const BEGINNING = 5;
const BEGINNING_WEIGHT = 0.5;
/** A nearness below this is chance. */
const LEAST = 0.25;
/** Nearness of a phrase to an action of the same id in another app, relative to its own. */
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
