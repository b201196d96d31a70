import type { Clause } from './format.ts';

/** A stretch of a clause: text as it is, or a parameter with the quote that it stands in, '' for none. */
type Piece = { text: string } | { name: string; quote: string };

const TOKEN = /(['"`])|\{([a-zA-Z_][a-zA-Z0-9_]*)\}/g;

/** A clause in pieces, each parameter with the quotes around it. */
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

/** The parameters that a clause or group names, and whether each stands between quotes. */
export function namesOf(clause: Clause): { name: string; quoted: boolean }[] {
  if (typeof clause !== 'string') return clause.all.flatMap(namesOf);
  return piecesOf(clause).flatMap((piece) =>
    'name' in piece ? [{ name: piece.name, quoted: piece.quote !== '' }] : [],
  );
}
