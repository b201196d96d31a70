import type { Action } from '../../connectors/catalog.ts';
import { memoByObject } from '../../lib/memo.ts';
import { withPauses } from '../../lib/pauses.ts';
import { isConcept } from './lexicon.ts';
import { stemTermsOf, termsOfPhrase, type Counts, type PhraseTerms } from './phrase-terms.ts';
import type { Step } from './query.ts';
import { termWeight } from './term-weight.ts';

/** Compares steps of requests with the phrases of actions. */
export interface Phrases {
  /** Returns how well the phrases of each action fit a step, from 0 to 1, by the number of the action. */
  fit(step: Pick<Step, 'said' | 'words' | 'terms'>): number[];
}

/** Factor for the phrases of other actions with the same id, which also stand for actions without own ones. */
const SAME_ID = 0.8;

/** Returns the terms of an action's name and synonyms, which are phrases too. */
const nameTermsOf = memoByObject(({ name, definition }: Action): string[] =>
  [name, ...definition.synonyms].flatMap((text) => termsOfPhrase(text, 'en')),
);

/** Indexes the phrases of actions, in the order of their numbers. It pauses, because there are thousands of actions. */
export async function indexPhrases(actions: readonly Action[], shipped: PhraseTerms): Promise<Phrases> {
  /** Numbers of terms that only names have. */
  const further = new Map<string, number>();
  const numberOf = (term: string) => shipped.numbers.get(term) ?? further.get(term);
  const newNumber = (term: string): number => {
    const number = shipped.numbers.size + further.size;
    further.set(term, number);
    return number;
  };
  const countsOf = (action: Action): Counts => {
    const counts = new Map(shipped.of(`${action.connectorId}.${action.actionId}`));
    for (const term of nameTermsOf(action)) {
      const number = numberOf(term) ?? newNumber(term);
      counts.set(number, (counts.get(number) ?? 0) + 1);
    }
    return counts;
  };
  const having: number[] = [];
  for await (const action of withPauses(actions))
    for (const number of countsOf(action).keys()) having[number] = (having[number] ?? 0) + 1;
  const weights = Float64Array.from(having, (count = Infinity) => termWeight(actions.length, count));

  const own: Document[] = [];
  const shared: { group: readonly number[]; document: Document }[] = [];
  const byId = Map.groupBy(actions.keys(), (at) => actions[at]?.actionId);
  for await (const group of withPauses(byId.values())) {
    // Computed again, because the counts of all actions at once take 20 MB.
    const counts = group.flatMap((at) => (actions[at] ? [countsOf(actions[at])] : []));
    for (const [place, one] of counts.entries()) own[group[place] ?? 0] = documentOf(one, weights);
    if (counts.length > 1) shared.push({ group, document: documentOf(sumOf(counts), weights) });
  }
  return {
    fit({ said, words, terms }) {
      const concepts = [...words, ...terms.map(({ term }) => term)].filter(isConcept);
      const asked = askedFor(
        [...stemTermsOf([...said]), ...concepts].map(numberOf).filter((number) => number !== undefined),
        weights,
      );
      const fits = own.map((document) => cosine(document, asked));
      for (const { group, document } of shared) {
        const best = Math.max(cosine(document, asked), ...group.map((at) => fits[at] ?? 0));
        for (const at of group) fits[at] = Math.max(fits[at] ?? 0, SAME_ID * best);
      }
      return fits;
    },
  };
}

/** The terms of a document, and the share of its length that each has. */
interface Document {
  terms: Uint32Array;
  shares: Float32Array;
}

function documentOf(counts: Counts, weights: Float64Array): Document {
  const terms = Uint32Array.from(counts.keys());
  const parts = [...counts].map(([term, count]) => Math.sqrt(count) * (weights[term] ?? 0));
  const length = Math.hypot(...parts) || 1;
  return { terms, shares: Float32Array.from(parts, (part) => part / length) };
}

/** Returns the share of a request's length that each term has, by the number of the term. */
function askedFor(terms: readonly number[], weights: Float64Array): Float64Array {
  const shares = new Float64Array(weights.length);
  for (const term of terms) shares[term] = weights[term] ?? 0;
  const length = Math.hypot(...[...new Set(terms)].map((term) => shares[term] ?? 0)) || 1;
  return shares.map((share) => share / length);
}

function cosine({ terms, shares }: Document, asked: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < terms.length; at += 1) sum += (shares[at] ?? 0) * (asked[terms[at] ?? 0] ?? 0);
  return sum;
}

function sumOf(all: readonly Counts[]): Counts {
  const sum = new Map<number, number>();
  for (const counts of all) for (const [term, count] of counts) sum.set(term, (sum.get(term) ?? 0) + count);
  return sum;
}
