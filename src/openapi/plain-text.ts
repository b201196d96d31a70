import { hiddenIn, withoutHidden } from '../lib/hidden-characters.ts';

/* Texts of a document that models will read: short, plain, without hidden characters. */

/**
 * Returns a text without markup and hidden characters, cut to whole sentences of at most `most` characters; undefined
 * where nothing is left.
 */
export function plainText(value: unknown, most: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  // A long text is cut first, so that a hostile one costs nothing.
  const head = value.slice(0, most * 8);
  const plain = shownOnly(head)
    .replaceAll(/<[a-zA-Z/][^<>]{0,300}>/g, ' ')
    .replaceAll('<!--', ' ')
    .replaceAll(/!?\[([^\][]{0,200})\]\([^()\s]{0,500}\)/g, '$1')
    .replaceAll(/(\*\*|__|`{1,3})/g, '')
    .replaceAll(/^ *(#{1,6} +|> ?(\[![A-Z]{1,20}\])?)/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const short = sentences(plain, most);
  return short === '' ? undefined : short;
}

/** Removes comments of HTML and hidden characters. Other controls become blanks. */
function shownOnly(text: string): string {
  const open = text.replaceAll(/<!--[\s\S]*?(-->|$)/g, ' ').replaceAll('\r', '\n');
  if (hiddenIn(open) === undefined) return open;
  return withoutHidden(open).replaceAll(/\\u\{[0-9A-F]{4,6}\}/g, '');
}

function sentences(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = text.slice(0, most);
  const end = Math.max(head.lastIndexOf('. '), head.lastIndexOf('! '), head.lastIndexOf('? '));
  if (end >= most / 3) return head.slice(0, end + 1);
  const blank = head.lastIndexOf(' ', most - 1);
  return `${head
    .slice(0, blank > most / 2 ? blank : most - 1)
    .toWellFormed()
    .replaceAll('\ufffd', '')}…`;
}
