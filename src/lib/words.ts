/** A longer run of letters is no word but data or noise. */
const MAX_WORD = 60;

/**
 * Returns the lower-case words of a text without accents. Identifiers are split at `_`, `-`, `.` and inside camelCase.
 */
export function wordsOf(text: string): string[] {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll}{2})/gu, '$1 $2')
    .toLowerCase()
    .replaceAll(/['’](?=\p{L})/gu, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && word.length <= MAX_WORD);
}

/**
 * Returns the common stem of English word forms: `orders`, `ordered` and `ordering` give `order`. It is lighter than
 * Porter's stemmer, which gives `organization` and `organ` one stem. Words of other languages stay nearly unchanged.
 */
export function stemOf(word: string): string {
  if (word.length <= 2 || /\d/.test(word)) return word;
  const plain = withoutTense(withoutPlural(word));
  return plain
    .replace(/e$/, '')
    .replace(/([^aeiou])y$/, '$1i')
    .replace(/([b-df-hj-np-tv-z])\1$/, '$1');
}

function withoutPlural(word: string): string {
  if (/(?:ss|us|is)$/.test(word)) return word;
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:x|ch|sh|ss|z)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith('s') ? word.slice(0, -1) : word;
}

function withoutTense(word: string): string {
  const shorter = word.replace(/(?:ing|ed)$/, '');
  // The rest must be a word: `sing`, `feed` and `thing` stay.
  return shorter.length >= 3 && /[aeiouy]/.test(shorter) && !word.endsWith('eed') ? shorter : word;
}

/** Returns whether two words differ by one wrong, missing or extra letter, or by two swapped ones. */
export function isNearly(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  const restA = a.slice(start);
  const restB = b.slice(start);
  return (
    restA.slice(1) === restB.slice(1) ||
    restA.slice(1) === restB ||
    restA === restB.slice(1) ||
    (restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2))
  );
}

/** Returns a key that is equal for names that differ in letter case, or in the way that their words are joined. */
export function nameKey(name: string): string {
  return name.replaceAll(/[_-]/g, '').toLowerCase();
}

/** Returns the names that a wrong one may have meant, nearest first, at most three. */
export function nearestNames(name: string, candidates: Iterable<string>): string[] {
  const key = nameKey(name.slice(0, MAX_WORD));
  const stems = new Set(wordsOf(name.slice(0, MAX_WORD)).map(stemOf));
  const like = [...candidates]
    .map((candidate) => ({ candidate, likeness: likenessOf(candidate, key, stems) }))
    .filter(({ likeness }) => likeness >= 0.5)
    .sort((a, b) => b.likeness - a.likeness);
  const misspelt = like.filter(({ likeness }) => likeness > 1);
  return (misspelt.length > 0 ? misspelt : like).slice(0, 3).map(({ candidate }) => candidate);
}

/** Returns a question that proposes names, with a blank before it; empty where none is near. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  return questionOf(nearestNames(name, candidates));
}

/** Returns the question whether one of these names was meant, with a blank before it; empty without names. */
export function questionOf(names: readonly string[]): string {
  return names.length === 0 ? '' : ` Did you mean ${names.map((one) => `"${one}"`).join(' or ')}?`;
}

/** Returns 2 for the same name, 1.5 for one wrong letter, else the proportion of shared words. */
function likenessOf(candidate: string, key: string, stems: ReadonlySet<string>): number {
  const other = nameKey(candidate);
  if (other === key) return 2;
  if (key.length > 2 && isNearly(key, other)) return 1.5;
  if (key.length > 3 && (other.startsWith(key) || key.startsWith(other))) return 1;
  const words = wordsOf(candidate).map(stemOf);
  const shared = words.filter((word) =>
    [...stems].some((stem) => stem === word || (word.length > 3 && isNearly(stem, word))),
  );
  return shared.length / Math.max(words.length, stems.size);
}
