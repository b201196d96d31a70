import type { Action } from '../connectors/catalog.ts';
import { memoByObject } from '../lib/memo.ts';
import { withPauses } from '../lib/pauses.ts';
import { isConcept } from './lexicon.ts';
import { stemsAndPairs, termsOfPhrase, type Counts, type PhraseTerms } from './phrase-terms.ts';
import type { Step } from './query.ts';
import { termWeight } from './term-weight.ts';

/** Compares steps of requests with the phrases of actions. */
export interface Phrases {
  /** Returns how well the phrases of each action fit a step, from 0 to 1, in the order of the actions. */
  fit(step: Pick<Step, 'said' | 'words' | 'terms'>): number[];
}

/**
 * Factor when an action is compared by the phrases of other actions with its id. An action without phrases is compared by
 * those alone.
 */
const SAME_ID = 0.8;

/** Returns the terms of an action's name and synonyms, which are phrases too. */
const nameTermsOf = memoByObject(({ name, definition }: Action): string[] =>
  [name, ...definition.synonyms].flatMap((text) => termsOfPhrase(text, 'en')),
);

/** Indexes the phrases of actions, in their order. It pauses, because there are thousands of actions. */
export async function indexPhrases(actions: readonly Action[], shipped: PhraseTerms): Promise<Phrases> {
  /** Ids of terms that are in names and synonyms, and in no shipped phrase. */
  const nameIds = new Map<string, number>();
  const idOf = (term: string) => shipped.ids.get(term) ?? nameIds.get(term);
  const newId = (term: string): number => {
    const id = shipped.ids.size + nameIds.size;
    nameIds.set(term, id);
    return id;
  };
  const countsOf = (action: Action): Counts => {
    const counts = new Map(shipped.of(`${action.connectorId}.${action.actionId}`));
    for (const term of nameTermsOf(action)) {
      const id = idOf(term) ?? newId(term);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  };
  const actionsWithTerm: number[] = [];
  for await (const action of withPauses(actions))
    for (const id of countsOf(action).keys()) actionsWithTerm[id] = (actionsWithTerm[id] ?? 0) + 1;
  // A term that no action has weighs nothing.
  const weights = Float64Array.from(actionsWithTerm, (count = Infinity) => termWeight(actions.length, count));

  const own: TermVector[] = [];
  const shared: { places: readonly number[]; vector: TermVector }[] = [];
  const byId = Map.groupBy(actions.entries(), ([, { actionId }]) => actionId);
  for await (const group of withPauses(byId.values())) {
    // Computed again, because the counts of all actions at once take 20 MB.
    const counts = group.map(([place, action]) => {
      const one = countsOf(action);
      own[place] = vectorOf(one, weights);
      return one;
    });
    const places = group.map(([place]) => place);
    if (group.length > 1) shared.push({ places, vector: vectorOf(sumOf(counts), weights) });
  }
  return {
    fit({ said, words, terms }) {
      const concepts = [...words, ...terms.map(({ term }) => term)].filter(isConcept);
      const ids = [...stemsAndPairs([...said]), ...concepts].map(idOf).filter((id) => id !== undefined);
      const request = requestVector(new Set(ids), weights);
      const fits = own.map((vector) => cosine(vector, request));
      for (const { places, vector } of shared) {
        const best = Math.max(cosine(vector, request), ...places.map((place) => fits[place] ?? 0));
        for (const place of places) fits[place] = Math.max(fits[place] ?? 0, SAME_ID * best);
      }
      return fits;
    },
  };
}

/** The ids of the terms of a document, and the share of its length that each has. */
interface TermVector {
  ids: Uint32Array;
  shares: Float32Array;
}

function vectorOf(counts: Counts, weights: Float64Array): TermVector {
  const parts = [...counts].map(([id, count]) => Math.sqrt(count) * (weights[id] ?? 0));
  const length = Math.hypot(...parts) || 1;
  return {
    ids: Uint32Array.from(counts.keys()),
    shares: Float32Array.from(parts, (part) => part / length),
  };
}

/** Returns the share of a request's length that each of its terms has, by the id of the term. */
function requestVector(ids: ReadonlySet<number>, weights: Float64Array): Float64Array {
  const shares = new Float64Array(weights.length);
  const length = Math.hypot(...[...ids].map((id) => weights[id] ?? 0)) || 1;
  for (const id of ids) shares[id] = (weights[id] ?? 0) / length;
  return shares;
}

function cosine({ ids, shares }: TermVector, request: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < ids.length; at += 1) sum += (shares[at] ?? 0) * (request[ids[at] ?? 0] ?? 0);
  return sum;
}

function sumOf(all: readonly Counts[]): Counts {
  const sum = new Map<number, number>();
  for (const counts of all) for (const [id, count] of counts) sum.set(id, (sum.get(id) ?? 0) + count);
  return sum;
}
