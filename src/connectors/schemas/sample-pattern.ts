import { compilePattern } from '../../lib/linear-pattern.ts';

/*
 * Generates texts from a pattern. RE2 itself decides which characters an atom accepts, so only the structure is read
 * here: groups, alternatives, repetitions, and where an atom ends. The result is a proposal that the whole pattern
 * must confirm.
 */

/** Maximum length of a text. */
const MAX_CHARS = 2000;
const MAX_DEPTH = 20;
/** Characters that are tried in this order for an atom. */
const CANDIDATES = [...'abcdefghijklmnopqrstuvwxyz', ...'ABCDEFGHIJKLMNOPQRSTUVWXYZ', ...'1234567890'].concat(
  [...' -_.,:;/@#+*=!?&%$\'"()<>[]{}|~^`\\\n\té中ж'],
);

interface Reading {
  pattern: string;
  at: number;
  depth: number;
  /** Repetitions beyond the minimum, where more are allowed. */
  more: number;
  /** Index of the alternative of a group; the last one where there are fewer. */
  branch: number;
  /** Counts the chosen characters, so that neighbours differ. */
  chosen: number;
}

/** Returns a proposal for a text; undefined where the pattern has a part that this parser does not read. */
export function proposalFor(
  pattern: string,
  { more, branch, turn }: { more: number; branch: number; turn: number },
): string | undefined {
  try {
    const reading = { pattern, at: 0, depth: 0, more, branch, chosen: turn };
    const text = alternatives(reading);
    return reading.at === pattern.length ? text : undefined;
  } catch (error) {
    if (error instanceof UnreadableError) return undefined;
    throw error;
  }
}

class UnreadableError extends Error {}

/** Reads `a|b|c` to the end of the pattern or of the group. */
function alternatives(reading: Reading): string {
  if (++reading.depth > MAX_DEPTH) throw new UnreadableError();
  const texts = [sequence(reading)];
  while (reading.pattern[reading.at] === '|') {
    reading.at++;
    texts.push(sequence(reading));
  }
  reading.depth--;
  return texts[Math.min(reading.branch, texts.length - 1)] ?? '';
}

function sequence(reading: Reading): string {
  let text = '';
  while (reading.at < reading.pattern.length && !'|)'.includes(reading.pattern[reading.at] ?? '')) {
    const one = atom(reading);
    for (let left = repetitions(reading); left > 0; left--) text += one();
    if (text.length > MAX_CHARS) throw new UnreadableError();
  }
  return text;
}

/** Reads an atom, and returns a function that makes its text. */
function atom(reading: Reading): () => string {
  const { pattern, at } = reading;
  const rest = pattern.slice(at);
  if (pattern[at] === '(') {
    const open = /^\((?:\?(?::|P?<\w+>))?/.exec(rest)?.[0] ?? '';
    // Flags and look-around are not read.
    if (rest.startsWith('(?') && open === '(') throw new UnreadableError();
    reading.at += open.length;
    const text = alternatives(reading);
    if (pattern[reading.at] !== ')') throw new UnreadableError();
    reading.at++;
    return () => text;
  }
  const anchor = /^(?:\^|\$|\\[bBAzZ])/.exec(rest)?.[0];
  const source = anchor ?? ATOM.exec(rest)?.[0];
  if (source === undefined) throw new UnreadableError();
  reading.at += source.length;
  if (anchor !== undefined) return () => '';
  const taken = charactersOf(source);
  return () => taken[reading.chosen++ % taken.length] ?? '';
}

/** A class, an escape, a dot or a character. */
const ATOM =
  /^(?:\[\^?\]?(?:\\[\s\S]|\[:\^?\w+:\]|[^\]\\])*\]|\\[pP](?:\{[^}]+\}|\w)|\\x\{[0-9a-fA-F]+\}|\\x[0-9a-fA-F]{2}|\\u\{[0-9a-fA-F]+\}|\\u[0-9a-fA-F]{4}|\\[\s\S]|[^\\[])/u;

function charactersOf(source: string): string[] {
  if (!/^[\\[.]/.test(source)) return [source];
  const { test } = compilePattern(`^(?:${source})$`);
  const taken = CANDIDATES.filter(test);
  const own = /^\\([^\w\s])$/.exec(source)?.[1];
  if (taken.length > 0) return taken;
  if (own !== undefined) return [own];
  throw new UnreadableError();
}

/** Returns how often the atom before is repeated. */
function repetitions(reading: Reading): number {
  const [whole = '', sign, from, comma, to] =
    /^(?:([*+?])|\{(\d+)(,(\d*))?\})\??/.exec(reading.pattern.slice(reading.at)) ?? [];
  if (whole === '') return 1;
  reading.at += whole.length;
  const least = sign === undefined ? Number(from) : sign === '+' ? 1 : 0;
  const most = sign === '?' ? 1 : sign ? Infinity : comma === undefined ? least : Number(to || Infinity);
  return Math.min(most, least + reading.more);
}
