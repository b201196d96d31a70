import { once } from '../lib/memo.ts';
import { lexiconOf, matchAt, tokensOf, conceptTerm, type Lexicon, type Token } from './lexicon.ts';
import { LANGUAGES, readWordLists, type WordLists } from './word-lists.ts';

/** A word, or several words that form a phrase. */
export interface Part {
  /** Its words as written, without accents and in lower case. */
  texts: readonly string[];
  /** Stems. */
  words: readonly string[];
  /** Stems of all its words, also of an idiom. */
  said: readonly string[];
  /** Positions of the words in the text. */
  positions: readonly number[];
  /** Terms of the index for its concepts. */
  concepts: readonly string[];
  /** Whether its first word ends with `s`. Such a word is not read as an order such as `file` or `issue`. */
  isPlural: boolean;
  /** Whether it holds only words without meaning. */
  empty: boolean;
  /** Whether a language or the index has it, so that its spelling needs no correction. */
  known: boolean;
  /** Whether a language has only its beginning. It may then be the misspelt name of an app, as `shopfy` is for `shop*`. */
  isBeginning: boolean;
}

/** The languages, prepared for look-ups. */
export interface Vocabulary {
  english: Lexicon;
  lexicons: readonly Lexicon[];
  /** By `en`, `de`, `fr`, `es` and `pt`. */
  byLanguage: ReadonlyMap<string, Lexicon>;
  /** Concepts that are things, and those that are kinds of work. `refund` is both. */
  things: ReadonlySet<string>;
  works: ReadonlySet<string>;
}

/** Reads the words at the first search, because reading them would take a tenth of the start. */
export const vocabularyOf = once((): Vocabulary => {
  const shared = readWordLists('en');
  const english = lexiconOf(shared, true);
  const byLanguage = new Map<string, Lexicon>(
    LANGUAGES.map((language) => [
      language,
      language === 'en' ? english : lexiconOf(readWordLists(language), false),
    ]),
  );
  return {
    english,
    lexicons: [...byLanguage.values()],
    byLanguage,
    things: namesOf(shared.things),
    works: namesOf(shared.work),
  };
});

function namesOf(concepts: WordLists['things']): Set<string> {
  return new Set(Object.keys(concepts).map(conceptTerm));
}

/** Returns the concepts and stems of an English text, such as the name of an action. */
export function parseText(text: string) {
  const parts = partsOf(tokensOf(text), [vocabularyOf().english]);
  return {
    parts,
    /** Stems without words that have no meaning. */
    stems: parts.flatMap((part) => (part.empty ? [] : part.words)),
    concepts: parts.flatMap((part) => part.concepts),
  };
}

/**
 * Returns the parts of a text. Uses the longest phrase at each word, of the first language that knows the word. A word
 * belongs to one phrase only. `isTerm` returns whether the index has a stem. A word whose stem is in the index is not
 * looked up in the languages after English.
 */
export function partsOf(
  tokens: readonly Token[],
  lexicons: readonly Lexicon[],
  isTerm: (stem: string) => boolean = () => false,
): Part[] {
  const used = new Set<number>();
  const parts: Part[] = [];
  for (const at of tokens.keys()) {
    if (used.has(at)) continue;
    const part = partAt(tokens, lexicons, { at, used, isTerm });
    for (const place of part.positions) used.add(place);
    parts.push(part);
  }
  return parts;
}

function partAt(
  tokens: readonly Token[],
  lexicons: readonly Lexicon[],
  { at, used, isTerm }: { at: number; used: ReadonlySet<number>; isTerm: (stem: string) => boolean },
): Part {
  const { word = '', stem = '' } = tokens[at] ?? {};
  const english = lexicons.indexOf(vocabularyOf().english);
  for (const [rank, lexicon] of lexicons.entries()) {
    if (rank > english && isTerm(stem)) break;
    const match = matchAt(lexicon, tokens, { at, used });
    const positions = match?.positions ?? [at];
    const empty = positions.every((place) => isSmall(lexicon, tokens[place]?.word ?? ''));
    if (!match && !empty) continue;
    return {
      texts: positions.map((place) => tokens[place]?.word ?? ''),
      words: wordsOf(lexicon, tokens, positions),
      said: positions.map((place) => tokens[place]?.stem ?? ''),
      positions,
      concepts: match?.phrase.concepts ?? [],
      isPlural: word.endsWith('s'),
      empty,
      known: true,
      isBeginning: positions.length === 1 && match?.phrase.words[0]?.isPrefix === true,
    };
  }
  return {
    texts: [word],
    words: [stem],
    said: [stem],
    positions: [at],
    concepts: [],
    isPlural: word.endsWith('s'),
    empty: false,
    known: isTerm(stem) || word.length < 2,
    isBeginning: false,
  };
}

/** Returns the stems of a part; none for an idiom such as `let … know`, whose single words have other meanings. */
function wordsOf(lexicon: Lexicon, tokens: readonly Token[], positions: readonly number[]): string[] {
  const isIdiom =
    positions.length > 1 && positions.some((place) => isSmall(lexicon, tokens[place]?.word ?? ''));
  return isIdiom ? [] : positions.map((place) => tokens[place]?.stem ?? '');
}

/** Returns whether a word of a language has no meaning for a search. */
export function isSmall({ empty, not, and, but, content }: Lexicon, word: string): boolean {
  return empty.has(word) || not.has(word) || and.has(word) || but.has(word) || content.has(word);
}
