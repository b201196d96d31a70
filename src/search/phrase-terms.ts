import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { withPauses } from '../lib/pauses.ts';
import { listPackageFolder, packagePath } from '../package.ts';
import { tokensOf } from './lexicon.ts';
import { partsOf, vocabularyOf } from './vocabulary.ts';

/*
 * For the search, a shipped action is a document: all phrases with which people ask for it, because requests seldom use the
 * words of descriptions. The terms of a phrase are its stems, its pairs of neighbouring stems, and its concepts.
 */

/** How many phrases of one action have a term, by the id of the term. */
export type Counts = ReadonlyMap<number, number>;

/** The terms of the phrases of shipped actions. */
export interface PhraseTerms {
  /** Ids of the terms. */
  ids: ReadonlyMap<string, number>;
  /** Returns the terms of an action by `connectorId.actionId`; none for one that is not shipped. */
  of(name: string): Counts;
}

/**
 * The file of the build with the terms, because computing them takes seconds. Its first line is a JSON list of all terms, in the
 * order of their ids. Each further line is of one action: its name, a tab, and a JSON list `[id, count, id, count, …]`.
 */
export const PHRASE_TERMS_FILE = 'phrase-terms.tsv';

/** Reads the terms of the build. A checkout that runs its sources computes them, with pauses. */
export async function readPhraseTerms(): Promise<PhraseTerms> {
  const isSource = import.meta.url.endsWith('.ts');
  const text = isSource
    ? await phraseTermsText()
    : readFileSync(packagePath(`dist/${PHRASE_TERMS_FILE}`), 'utf8');
  const [first = '', ...lines] = text.split('\n');
  const terms: string[] = JSON.parse(first);
  // The lines stay texts, because maps take ten times the memory.
  const byName = new Map(lines.map((line) => [line.slice(0, line.indexOf('\t')), line] as const));
  return {
    ids: new Map(terms.map((term, id) => [term, id])),
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
  const totals = tally([...documents.values()].flat());
  const kept = [...totals].filter(([term, count]) => count > 1 || !term.includes(' ')).map(([term]) => term);
  const ids = new Map(kept.map((term, id) => [term, id]));
  const lines = [...documents].map(([name, terms]) => {
    const known = terms.map((term) => ids.get(term)).filter((id) => id !== undefined);
    return `${name}\t${JSON.stringify([...tally(known)].flat())}`;
  });
  return [JSON.stringify(kept), ...lines].join('\n');
}

/** Returns the terms of a phrase in a language such as `en`, each once. */
export function termsOfPhrase(text: string, language: string): string[] {
  const { english, byLanguage } = vocabularyOf();
  const tokens = tokensOf(text);
  const parts = partsOf(tokens, [...new Set([byLanguage.get(language) ?? english, english])]);
  const concepts = parts.flatMap((part) => part.concepts);
  return [...new Set([...stemsAndPairs(tokens.map(({ stem }) => stem)), ...concepts])];
}

/** Returns stems, and the pairs of neighbours among them. */
export function stemsAndPairs(stems: readonly string[]): string[] {
  return [...stems, ...stems.slice(1).map((stem, at) => `${stems[at]} ${stem}`)];
}

function tally<T>(all: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const one of all) counts.set(one, (counts.get(one) ?? 0) + 1);
  return counts;
}

/** The phrases of the actions of a connector, by language. */
const phrasesFile = z.record(z.string(), z.record(z.string(), z.array(z.string())));
const PHRASES_FOLDER = packagePath('data/phrases');

/** Phrases with which people ask for an action, by language: `en`, `de`, `fr`, `es`, `pt`. */
interface ActionPhrases {
  /** `connectorId.actionId` */
  name: string;
  phrases: Readonly<Record<string, readonly string[]>>;
}

/** Yields the phrases of the shipped actions. They are in data/phrases/<connectorId>.json. */
function* shippedPhrases(): Generator<ActionPhrases> {
  for (const name of listPackageFolder(PHRASES_FOLDER)) {
    const actions = phrasesFile.parse(JSON.parse(readFileSync(join(PHRASES_FOLDER, name), 'utf8')));
    const connectorId = name.replace(/\.json$/, '');
    for (const [actionId, phrases] of Object.entries(actions))
      yield { name: `${connectorId}.${actionId}`, phrases };
  }
}
