import { isJsonObject, type Json } from './json.ts';

/**
 * Characters that a person does not see and a model reads: zero-width and bidirectional ones, variation selectors, the
 * tags block, controls except tab and line feed, halves of surrogate pairs.
 */
const HIDDEN = /(?![\t\n])[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cs}\p{Zl}\p{Zp}\ufff9-\ufffb]/u;
const ALL_HIDDEN = new RegExp(HIDDEN, 'gu');

/** Returns whether a text holds a control character or a line separator, which names of one line must not have. */
export function hasControls(text: string): boolean {
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
}

/** Returns the first hidden character of a text as `U+200B`. */
export function hiddenIn(text: string): string | undefined {
  const found = HIDDEN.exec(text)?.[0];
  return found === undefined ? undefined : `U+${codeOf(found)}`;
}

/** Returns the text with each hidden character written out: `\u{200B}`. */
export function withoutHidden(text: string): string {
  return text.replaceAll(ALL_HIDDEN, (found) => `\\u{${codeOf(found)}}`);
}

/** Returns a name as it is shown to people: one line, without hidden characters. */
export function shownName(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(ALL_HIDDEN, '').trim();
}

/** Returns the value with the hidden characters of all its texts written out. */
export function writtenOut(value: Json): Json {
  if (typeof value === 'string') return withoutHidden(value);
  if (Array.isArray(value)) return value.map(writtenOut);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [withoutHidden(name), writtenOut(member)]),
  );
}

function codeOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
}
