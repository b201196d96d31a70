import type { Lexicon, Token } from './lexicon.ts';
import { stemOf } from '../lib/words.ts';

/** A possible correction of a misspelt word. */
interface Candidate {
  text: string;
  /** Whether it is a prefix of words. */
  isPrefix: boolean;
  /** Whether it is a stem, so that the word may have an ending. */
  isStem: boolean;
  /** Smaller is better among equally near candidates. */
  rank: number;
}

/** Corrects words that neither the languages nor the index know. */
export type Correct = (word: string, preferred: Lexicon) => Token | undefined;

/** Least length of a word to correct, because too many words are similar to a shorter one. */
const MIN_LENGTH = 4;
/** Least length of a word that may have two wrong letters. */
const LONG = 8;
/** Most letters that may follow a prefix. */
const MAX_ENDING = 5;

/** Rank of the names of apps, before the words of all languages. */
const NAME_RANK = -2;

/** Returns the correction by the names of apps, the words of the preferred and the other languages, and the terms of the index. */
export function createSpelling(
  lexicons: readonly Lexicon[],
  { names, terms }: { names: Iterable<string>; terms: Iterable<string> },
): Correct {
  const byLetter = new Map<string, Candidate[]>();
  const add = (
    text: string,
    rank: number,
    { isPrefix = false, isStem = false }: { isPrefix?: boolean; isStem?: boolean } = {},
  ) => {
    if (text.length < MIN_LENGTH - Number(!isPrefix) || /\d|_/.test(text)) return;
    const letter = text.charAt(0);
    const others = byLetter.get(letter);
    if (others) others.push({ text, isPrefix, isStem, rank });
    else byLetter.set(letter, [{ text, isPrefix, isStem, rank }]);
  };
  for (const [rank, { exact, prefixes, empty, byStem: isStem }] of lexicons.entries()) {
    for (const text of exact.keys()) add(text, rank, { isStem });
    for (const text of prefixes.keys()) add(text, rank, { isPrefix: true });
    for (const text of empty) if (text.length > MIN_LENGTH) add(text, rank + 0.5);
  }
  for (const text of terms) add(text, lexicons.length);
  for (const text of names) add(text, NAME_RANK);

  return (word, preferred) => {
    if (word.length < MIN_LENGTH || /\d/.test(word)) return undefined;
    const first = lexicons.indexOf(preferred);
    const plain = word.replaceAll(/([aou])e/g, '$1');
    let best: { candidate: Candidate; distance: number } | undefined;
    for (const letter of new Set([word.charAt(0), word.charAt(1)])) {
      for (const candidate of byLetter.get(letter) ?? []) {
        const limit = Math.min(
          allowed(word.length),
          candidate.isPrefix && candidate.text.length < LONG ? 1 : 2,
        );
        const distance = distanceTo(candidate, word, plain);
        if (distance > limit || !isLikely(candidate, word)) continue;
        const rank = Math.floor(candidate.rank) === first ? candidate.rank - first - 1 : candidate.rank;
        const found = { candidate: { ...candidate, rank }, distance };
        if (!best || isBetter(found, best)) best = found;
      }
    }
    if (!best) return undefined;
    const { text, isStem } = best.candidate;
    // A plural such as `isues` stays one, because `issue` may also be an order.
    return isStem && word.endsWith('s') && !text.endsWith('s')
      ? { word: `${text}s`, stem: stemOf(text) }
      : tokenOf(text);
  };
}

/** Returns the correction of words that differ in one letter from a name. Short names are similar to many words. */
export function createNameSpelling(names: readonly string[]): (word: string) => Token | undefined {
  return (word) => {
    if (word.length <= MIN_LENGTH || names.includes(stemOf(word))) return undefined;
    const name = names.find(
      (one) =>
        one.startsWith(word.charAt(0)) &&
        Math.min(distanceOf(word, one), distanceOf(stemOf(word), one)) === 1,
    );
    return name === undefined ? undefined : tokenOf(name);
  };
}

function allowed(length: number): number {
  if (length < MIN_LENGTH) return 0;
  return length < LONG ? 1 : 2;
}

/** Returns whether a correction is likely: a short word must have the same letters, because many short words are similar. */
function isLikely({ text, isPrefix }: Candidate, word: string): boolean {
  if (isPrefix) return text.length > MIN_LENGTH || word.length <= text.length + 2;
  return word.length > MIN_LENGTH || text.length > word.length || sorted(text) === sorted(word);
}

function sorted(word: string): string {
  return [...word].sort().join('');
}

function isBetter(
  a: { candidate: Candidate; distance: number },
  b: { candidate: Candidate; distance: number },
): boolean {
  if (a.distance !== b.distance) return a.distance < b.distance;
  if (a.candidate.rank !== b.candidate.rank) return a.candidate.rank < b.candidate.rank;
  return a.candidate.text.length > b.candidate.text.length;
}

function tokenOf(text: string): Token {
  return { word: text, stem: stemOf(text) };
}

/** Returns the least distance of the word or its beginning. It also tries the word with ae, oe and ue as umlauts. */
function distanceTo({ text, isPrefix }: Candidate, word: string, plain: string): number {
  const forms = plain === word ? [word] : [word, plain];
  return Math.min(
    ...forms.map((form) => {
      if (!isPrefix) return Math.min(distanceOf(form, text), distanceOf(stemOf(form), text));
      if (form.length > text.length + MAX_ENDING) return Infinity;
      const lengths = [text.length - 1, text.length, text.length + 1].filter(
        (length) => length <= form.length,
      );
      return Math.min(...lengths.map((length) => distanceOf(form.slice(0, length), text)));
    }),
  );
}

/** Returns the number of wrong, missing, extra or swapped letters; Infinity above two. */
export function distanceOf(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return Infinity;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    if (Math.min(...row) > 2) return Infinity;
    before = last;
    last = row;
  }
  return last[b.length] ?? Infinity;
}
