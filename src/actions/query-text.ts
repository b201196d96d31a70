/** Length of a stored query, characters. */
const MAX_QUERY = 100;
/** Longer words are left out, because they are probably keys. */
const MAX_WORD = 40;

const ADDRESS = /\S+@\S+|\b(?:https?:\/\/|www\.)\S+/gu;
const HAS_DIGIT = /\p{N}/u;

/**
 * Returns a query as it is stored: words in lower case, without e-mail addresses, web addresses, and words with digits,
 * which may name a person, an order or a key. It is empty when nothing is left.
 */
export function normalisedQuery(query: string): string {
  const words = query
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(ADDRESS, ' ')
    .split(/\s+/u)
    .filter((word) => !HAS_DIGIT.test(word) && word.length <= MAX_WORD)
    .map((word) => word.replaceAll(/[^\p{L}\p{M}'’-]/gu, ' ').trim())
    .filter((word) => word !== '');
  let text = '';
  for (const word of words.join(' ').split(/\s+/u)) {
    if (text.length + 1 + word.length > MAX_QUERY) break;
    text = text === '' ? word : `${text} ${word}`;
  }
  return text;
}
