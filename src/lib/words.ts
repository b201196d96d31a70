/** What is longer is no word of any language: data, or noise. */
const MAX_WORD = 60;

/** Lower-case words of a text without accents; identifiers are split at `_`, `-`, `.` and inside camelCase. */
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
 * What English forms of a word have in common: `orders`, `ordered` and `ordering` are `order`. Lighter than Porter's
 * stemmer, which makes one word of `organization` and `organ`. Other languages pass nearly unchanged.
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
  // What is left must be a word: `sing`, `feed` and `thing` stay.
  return shorter.length >= 3 && /[aeiouy]/.test(shorter) && !word.endsWith('eed') ? shorter : word;
}

/** Whether two words differ by one letter that is wrong, missing, too many, or by two that changed places. */
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
