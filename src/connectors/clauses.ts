import type { Clause } from './format/format.ts';

/** A part of a clause: literal text, or a parameter with the quote around it ('' for none). */
type Piece = { text: string } | { name: string; quote: string };

const TOKEN = /(['"`])|\{([a-zA-Z_][a-zA-Z0-9_]*)\}/g;

/** Splits a clause into pieces, each parameter with the quotes around it. */
export function piecesOf(clause: string): Piece[] {
  const pieces: Piece[] = [];
  let quote = '';
  let at = 0;
  for (const match of clause.matchAll(TOKEN)) {
    const [token, mark, name] = match;
    if (mark !== undefined) quote = quote === '' ? mark : quote === mark ? '' : quote;
    if (name === undefined) continue;
    pieces.push({ text: clause.slice(at, match.index) }, { name, quote });
    at = match.index + token.length;
  }
  return [...pieces, { text: clause.slice(at) }];
}

/** Returns the parameters of a clause or group, and whether each is between quotes. */
export function namesOf(clause: Clause): { name: string; quoted: boolean }[] {
  if (typeof clause !== 'string') return clause.all.flatMap(namesOf);
  return piecesOf(clause).flatMap((piece) =>
    'name' in piece ? [{ name: piece.name, quoted: piece.quote !== '' }] : [],
  );
}
