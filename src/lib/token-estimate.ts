/**
 * A word of one case, digits by threes, a run of signs, or a run of spaces: the pieces that tokenizers cut text into
 * first.
 */
const PIECES = /\p{Lu}?\p{Ll}+|\p{Lu}+|\p{Lo}|\p{N}{1,3}|[^\p{L}\p{N}\s]+|\s+/gu;
const LETTERS_A_TOKEN = 12;
const SIGNS_A_TOKEN = 4;

/**
 * Estimates the tokens of an English or JSON text. Measured against o200k on the tool definitions of the shipped
 * catalogue: 1 % too many in total, within 6 % for nine of ten tools. A tokenizer would be 2 MB of tables and a second
 * of loading, and exact for one maker's models alone.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(PIECES)) {
    const first = piece.charCodeAt(0);
    // A single space belongs to the word behind it.
    if (piece === ' ') continue;
    const isSign = first < 128 && !/[A-Za-z0-9]/.test(piece.charAt(0));
    tokens += Math.ceil(piece.length / (isSign ? SIGNS_A_TOKEN : LETTERS_A_TOKEN));
  }
  return tokens;
}
