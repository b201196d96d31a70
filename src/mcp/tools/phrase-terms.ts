import { shippedPhrases } from '../../connectors/shipped-phrases.ts';
import { withPauses } from '../../lib/pauses.ts';
import { packagePath, readPackageFile } from '../../package.ts';
import { tokensOf } from './lexicon.ts';
import { partsOf, vocabularyOf } from './vocabulary.ts';

/*
 * Each shipped action as a document of the phrases with which people ask for it, because requests seldom use the words of
 * descriptions. The terms of a phrase are its stems, its pairs of neighbouring stems, and its concepts.
 */

/** The number of phrases of a document that have a term, by the number of the term. */
export type Counts = ReadonlyMap<number, number>;

/** The terms of the phrases of shipped actions. */
export interface PhraseTerms {
  /** Numbers of the terms. */
  numbers: ReadonlyMap<string, number>;
  /** Returns the terms of an action by `connectorId.actionId`; none for one that is not shipped. */
  of(name: string): Counts;
}

/**
 * The file of the build with the terms, because computing them takes seconds. Its first line has all terms, and the others
 * an action each: its name, a tab, and the numbers of its terms, each with its count behind it.
 */
export const PHRASE_TERMS_FILE = 'phrase-terms.tsv';

/** Reads the terms of the build. A checkout that runs its sources computes them, with pauses. */
export async function readPhraseTerms(): Promise<PhraseTerms> {
  const isSource = import.meta.url.endsWith('.ts');
  const text = isSource ? await phraseTermsText() : readPackageFile(packagePath(`dist/${PHRASE_TERMS_FILE}`));
  const [first = '', ...lines] = text.split('\n');
  const terms: string[] = JSON.parse(first);
  // The lines stay texts, because maps take ten times the memory.
  const byName = new Map(lines.map((line) => [line.slice(0, line.indexOf('\t')), line] as const));
  return {
    numbers: new Map(terms.map((term, number) => [term, number])),
    of(name) {
      const [, list] = byName.get(name)?.split('\t') ?? [];
      const numbers: number[] = list === undefined ? [] : JSON.parse(list);
      const counts = new Map<number, number>();
      for (let at = 0; at < numbers.length; at += 2) counts.set(numbers[at] ?? 0, numbers[at + 1] ?? 0);
      return counts;
    },
  };
}

/** Returns the content of the file. Pairs of words that only one phrase has are left out: they are two thirds of all terms. */
export async function phraseTermsText(): Promise<string> {
  const documents = new Map<string, string[]>();
  for await (const { name, phrases } of withPauses(shippedPhrases())) {
    const all = Object.entries(phrases);
    documents.set(
      name,
      all.flatMap(([language, texts]) => texts.flatMap((text) => termsOfPhrase(text, language))),
    );
  }
  const totals = countsOf([...documents.values()].flat());
  const kept = [...totals].filter(([term, count]) => count > 1 || !term.includes(' ')).map(([term]) => term);
  const numbers = new Map(kept.map((term, number) => [term, number]));
  const lines = [...documents].map(([name, terms]) => {
    const known = terms.map((term) => numbers.get(term)).filter((number) => number !== undefined);
    return `${name}\t${JSON.stringify([...countsOf(known)].flat())}`;
  });
  return [JSON.stringify(kept), ...lines].join('\n');
}

/** Returns the terms of a phrase in a language such as `en`, each once. */
export function termsOfPhrase(text: string, language: string): string[] {
  const { english, byLanguage } = vocabularyOf();
  const tokens = tokensOf(text);
  const parts = partsOf(tokens, [...new Set([byLanguage.get(language) ?? english, english])]);
  const concepts = parts.flatMap((part) => part.concepts);
  return [...new Set([...stemTermsOf(tokens.map(({ stem }) => stem)), ...concepts])];
}

/** Returns stems, and their pairs of neighbours. */
export function stemTermsOf(stems: readonly string[]): string[] {
  return [...stems, ...stems.slice(1).map((stem, at) => `${stems[at]} ${stem}`)];
}

function countsOf<T>(all: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const one of all) counts.set(one, (counts.get(one) ?? 0) + 1);
  return counts;
}
