import { stemOf, wordsOf } from '../lib/words.ts';
import type { WordLists } from './word-lists.ts';

/** A word of a text, in lower case and without accents. */
export interface Token {
  word: string;
  stem: string;
}

interface PhraseWord {
  text: string;
  isPrefix: boolean;
  /** Whether only the word itself matches, because its stem is that of another small word: `off` and `of`. */
  isWhole: boolean;
}

export interface Phrase {
  words: readonly PhraseWord[];
  /** Other words may stand between them. */
  gapped: boolean;
  /** Terms of the index. */
  concepts: string[];
}

/** A language, prepared for look-ups. */
export interface Lexicon {
  /** Whether words are compared by their stems, as in English. Other languages compare whole words. */
  byStem: boolean;
  /** Phrases by their first word. */
  exact: ReadonlyMap<string, readonly Phrase[]>;
  /** Phrases by their first word, where this word is a prefix. */
  prefixes: ReadonlyMap<string, readonly Phrase[]>;
  empty: ReadonlySet<string>;
  not: ReadonlySet<string>;
  and: ReadonlySet<string>;
  further: ReadonlySet<string>;
  but: ReadonlySet<string>;
  content: ReadonlySet<string>;
  ask: ReadonlySet<string>;
  can: ReadonlySet<string>;
  wish: ReadonlySet<string>;
  state: RegExp;
  before: ReadonlySet<string>;
}

/** Words that may stand in the gap of a phrase: `take the old mug off`. */
const MAX_GAP = 6;
/** Least length of a prefix, because shorter ones match too many words. */
const MIN_PREFIX = 2;

/** Returns the words of a text. */
export function tokensOf(text: string): Token[] {
  return wordsOf(text.replaceAll('ß', 'ss')).map((word) => ({ word, stem: stemOf(word) }));
}

/** Returns a concept as a term of the index. Stems have no underscore, so the two cannot collide. */
export function conceptTerm(name: string): string {
  return `c_${wordsOf(name).join('_')}`;
}

export function isConcept(term: string): boolean {
  return term.startsWith('c_');
}

/** Prepares the words of a language. English compares words by their stems. */
export function lexiconOf(lists: WordLists, byStem: boolean): Lexicon {
  const byText = new Map<string, Phrase>();
  for (const [name, entries] of [...Object.entries(lists.things), ...Object.entries(lists.work)]) {
    for (const entry of entries) {
      const phrase = phraseOf(entry, byStem);
      const key = JSON.stringify(phrase);
      const known = byText.get(key) ?? { ...phrase, concepts: [] };
      known.concepts.push(conceptTerm(name));
      byText.set(key, known);
    }
  }
  const phrases = [...byText.values()];
  return {
    byStem,
    exact: byFirst(phrases.filter(({ words }) => words[0]?.isPrefix === false)),
    prefixes: byFirst(phrases.filter(({ words }) => words[0]?.isPrefix === true)),
    empty: new Set(lists.empty),
    not: new Set(lists.not),
    and: new Set([...lists.and, ...lists.further]),
    further: new Set(lists.further),
    but: new Set(lists.but),
    content: new Set(lists.content),
    ask: new Set(lists.ask),
    can: new Set(lists.can),
    wish: new Set(lists.wish),
    state: new RegExp(lists.state),
    before: new Set(lists.before),
  };
}

function phraseOf(entry: string, byStem: boolean): Omit<Phrase, 'concepts'> {
  const words = entry
    .split(/[ …]+/)
    .filter((text) => text !== '')
    .map((text, at) => {
      const isPrefix = text.endsWith('*');
      const isWhole = !byStem || (at > 0 && text === 'off');
      return { text: isPrefix ? text.slice(0, -1) : isWhole ? text : stemOf(text), isPrefix, isWhole };
    });
  return { words, gapped: entry.includes('…') };
}

function byFirst(phrases: readonly Phrase[]): Map<string, Phrase[]> {
  return Map.groupBy(phrases, ({ words }) => words[0]?.text ?? '');
}

/** A phrase and the positions of its words. */
export interface Match {
  phrase: Phrase;
  positions: readonly number[];
}

/**
 * Returns the best phrase that begins at a position: the one with most words, then an exact one, then the longest
 * beginning. Words in `used` belong to another phrase.
 */
export function matchAt(
  lexicon: Lexicon,
  tokens: readonly Token[],
  { at, used }: { at: number; used: ReadonlySet<number> },
): Match | undefined {
  const token = tokens[at];
  if (!token) return undefined;
  let best: Match | undefined;
  for (const phrase of candidates(lexicon, token)) {
    const positions = positionsOf(lexicon, phrase, { tokens, at });
    if (!positions || positions.some((place) => used.has(place))) continue;
    if (positions.length > (best?.positions.length ?? 0)) best = { phrase, positions };
  }
  if (best?.positions.length !== 1) return best;
  // `not` has the stem of `note`, and a beginning such as `desd*` may match a small word.
  const isSmall =
    lexicon.not.has(token.word) || (best.phrase.words[0]?.isPrefix && lexicon.empty.has(token.word));
  return isSmall ? undefined : best;
}

function candidates(lexicon: Lexicon, token: Token): Phrase[] {
  const key = lexicon.byStem ? token.stem : token.word;
  const found = [...(lexicon.exact.get(key) ?? [])];
  for (let length = token.word.length; length >= MIN_PREFIX && lexicon.prefixes.size > 0; length -= 1)
    found.push(...(lexicon.prefixes.get(token.word.slice(0, length)) ?? []));
  return found;
}

function positionsOf(
  lexicon: Lexicon,
  { words, gapped }: Phrase,
  { tokens, at }: { tokens: readonly Token[]; at: number },
): number[] | undefined {
  const positions: number[] = [];
  let next = at;
  for (const word of words) {
    const end = next + (gapped && positions.length > 0 ? MAX_GAP : 0);
    let place = next;
    while (place <= end && !isWord(word, tokens[place])) {
      if (lexicon.and.has(tokens[place]?.word ?? '')) return undefined;
      place += 1;
    }
    if (place > end) return undefined;
    positions.push(place);
    next = place + 1;
  }
  return positions;
}

function isWord({ text, isPrefix, isWhole }: PhraseWord, token: Token | undefined): boolean {
  if (!token) return false;
  if (isPrefix) return token.word.startsWith(text);
  return (isWhole ? token.word : token.stem) === text;
}
