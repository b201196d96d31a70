import { randomInt } from 'node:crypto';
import type { Json } from '../lib/json.ts';
import { createScrubber } from '../lib/scrub.ts';

/*
 * Values of a live exchange, replaced for an example. Shapes, lengths and formats stay, so schemas and mappings still
 * hold. Equal values get equal replacements. These are random, because a hash of a short value could be reversed.
 */

/** Members whose one-word values are words of the app: `status: paid`. */
const WORD_MEMBERS =
  /^(type|status|state|kind|object|event|role|unit|currency|.*_(type|status|state|currency)|.*(Type|Status|State|Currency))$/;
const AMOUNT_MEMBERS = /amount|price|balance|salary|cost|tax|fee/i;
const TIME_MEMBERS = /(time|date|stamp|created|updated|modified|expires|_at|At|_on)$/i;
const WORD = /^[A-Za-z][A-Za-z_.-]{0,39}$/;
const EMAIL = /^[^\s@]+@[^\s@]+$/;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const DATE = /^\d{4}-\d{2}-\d{2}(?=$|[T ]\d{2}:)/;
/** Dates inside of a text, such as a filter. */
const DATES = /(\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?)/;
const IP = /^\d{1,3}(\.\d{1,3}){3}$/;
const NAME = /^[A-Za-z_@$#][A-Za-z_.:@$#-]*\d{0,2}$/;
const MAX_NAME = 40;
/** Smaller whole numbers are left unchanged, because they are counts, quantities and numbers of pages. */
const SMALL = 1000;
const DAY_MS = 86_400_000;

export interface Anonymiser {
  value(value: Json, member?: string): Json;
  text(text: string, member?: string): string;
  /**
   * As text(). Where the result does not fit, only what may change is replaced: `given` itself fits. Later equal texts
   * get the same result.
   */
  fitting(given: string, fits: (text: string) => boolean): string;
  /** From now on, replaces the origin `from` in addresses by the origin `to`. */
  origin(from: string, to: string): void;
}

/** Returns an anonymiser. It leaves the words of `vocabulary` unchanged, which the connector file compares or sends. */
export function createAnonymiser(secrets: readonly string[], vocabulary: ReadonlySet<string>): Anonymiser {
  const scrub = createScrubber(secrets);
  const runs = new Map<string, string>();
  const origins = new Map<string, string>();
  const fitted = new Map<string, string>();
  const shiftDays = randomInt(30, 2000);

  const run = (found: string): string => {
    if (vocabulary.has(found)) return found;
    const known = runs.get(found);
    if (known !== undefined) return known;
    const taken = new Set([...runs.values(), ...vocabulary, found]);
    const made = plainWord(found, taken) ?? similar(found);
    runs.set(found, made);
    return made;
  };
  const words = (found: string) => found.replaceAll(/[\p{L}\p{N}]+/gu, run);

  const address = (found: string): string => {
    const [origin = ''] = /^https?:\/\/[^/?#]*/.exec(found) ?? [];
    const host = origins.get(origin) ?? `https://${words(labelOf(origin))}.example.com`;
    return host + found.slice(origin.length).replaceAll(/(?<=[=/])[^/?#&=]+/g, part);
  };
  /** A segment of a path or a value of a query: a word with letters alone is a name of the app. */
  const part = (found: string) => (/^[a-z_.-]{1,20}$/i.test(found) || isSmall(found) ? found : words(found));

  const text = (given: string, member = ''): string => {
    const known = fitted.get(given);
    if (known !== undefined) return known;
    const clean = scrub(given);
    if (clean !== given) return clean.split('[secret]').map(words).join('[secret]');
    if (given === '' || vocabulary.has(given) || isSmall(given)) return given;
    if (WORD_MEMBERS.test(member) && WORD.test(given)) return given;
    if (DATE.test(given)) return shifted(given, shiftDays);
    if (IP.test(given)) return '192.0.2.1';
    if (EMAIL.test(given)) return `${words(given.slice(0, given.lastIndexOf('@')))}@example.com`;
    if (/^https?:\/\//.test(given)) return address(given);
    if (UUID.test(given)) return given.replaceAll(/[0-9a-f]+/gi, hex);
    return given
      .split(DATES)
      .map((piece, index) => (index % 2 === 1 ? shifted(piece, shiftDays) : words(piece)))
      .join('');
  };

  const fitting = (given: string, fits: (text: string) => boolean): string => {
    const made = text(given);
    if (fits(made) || !fits(given)) return made;
    const pieces = given.split(/([\p{L}\p{N}]+)/u);
    for (const [at, piece] of pieces.entries()) {
      if (at % 2 === 0) continue;
      const fitsWith = (word: string) => fits(pieces.with(at, word).join(''));
      const word = run(piece);
      pieces[at] = fitsWith(word) ? word : similarWhere(piece, fitsWith);
      // The same word of the answers gets the same replacement.
      runs.set(piece, pieces[at]);
    }
    const result = pieces.join('');
    fitted.set(given, result);
    return result;
  };
  /** Replaces a part of a UUID. */
  const hex = (found: string): string => {
    const made =
      runs.get(`uuid ${found}`) ?? found.replaceAll(/[0-9a-f]/gi, () => randomInt(16).toString(16));
    runs.set(`uuid ${found}`, made);
    return made;
  };

  const number = (given: number, member: string): number => {
    if (TIME_MEMBERS.test(member) && given > 1e9 && Number.isInteger(given)) return earlier(given, shiftDays);
    const isPlain = Number.isInteger(given) && Math.abs(given) < SMALL && !AMOUNT_MEMBERS.test(member);
    if (isPlain || given === 0) return given;
    return Number(String(given).replaceAll(/\d+/g, run));
  };

  const name = (given: string): string => {
    if (vocabulary.has(given)) return given;
    const clean = scrub(given);
    if (clean !== given) return clean;
    return NAME.test(given) && !EMAIL.test(given) && given.length <= MAX_NAME ? given : text(given);
  };

  const value = (given: Json, member = ''): Json => {
    if (typeof given === 'string') return text(given, member);
    if (typeof given === 'number') return number(given, member);
    if (Array.isArray(given)) return given.map((each) => value(each, member));
    if (typeof given !== 'object' || given === null) return given;
    return Object.fromEntries(Object.entries(given).map(([key, each]) => [name(key), value(each, key)]));
  };
  return { value, text, fitting, origin: (from, to) => origins.set(from, to) };
}

/** Returns the first name of a host; `app` for an IP address. */
function labelOf(origin: string): string {
  return /^https?:\/\/([a-z][a-z0-9-]*)\./i.exec(origin)?.[1] ?? 'app';
}

function isSmall(text: string): boolean {
  return /^\d{1,3}$/.test(text);
}

/** Words by their length, so that a replaced text can be read. */
const PLAIN_WORDS = (
  'ash bay elm fir oak sea sky sun hill lake leaf moon park pine rain road sand snow tree wind ' +
  'beach birch cedar cloud field grass maple ocean river stone bridge canyon desert forest garden harbor island meadow ' +
  'orchid summit valley willow blossom cottage evening horizon orchard prairie sparrow village daylight ' +
  'hillside lakeside mountain northern seashore woodland butterfly eastbound fireplace limestone riverbank waterfall'
).split(' ');

/** Returns a word of the same length and case that is not taken; undefined where there is none. */
function plainWord(found: string, taken: ReadonlySet<string>): string | undefined {
  const [, first = '', rest = ''] = /^([A-Za-z])([a-z]+|[A-Z]+)$/.exec(found) ?? [];
  if (rest === '' || (/[a-z]/.test(first) && /[A-Z]/.test(rest))) return undefined;
  const inCase = (word: string) => {
    if (/[A-Z]/.test(rest)) return word.toUpperCase();
    return /[A-Z]/.test(first) ? word.charAt(0).toUpperCase() + word.slice(1) : word;
  };
  const free = PLAIN_WORDS.filter((word) => word.length === found.length)
    .map(inCase)
    .filter((word) => !taken.has(word));
  return free[randomInt(Math.max(1, free.length))];
}

/** Returns a text of the same length, with a letter for a letter and a digit for a digit. */
function similar(text: string): string {
  const isHex = /^(?=.*\d)(?=.*[a-f])[0-9a-f]{8,}$/.test(text);
  return [...text]
    .map((character, at) => {
      if (/\d/.test(character))
        return String(at === 0 && character !== '0' ? randomInt(1, 10) : randomInt(10));
      if (isHex) return 'abcdef'.charAt(randomInt(6));
      const letter = 'abcdefghijklmnopqrstuvwxyz'.charAt(randomInt(26));
      return character.toLowerCase() === character ? letter : letter.toUpperCase();
    })
    .join('');
}

/** Replaces each character by another of its kind with which the text fits. Others stay, because a pattern names them. */
function similarWhere(text: string, fits: (text: string) => boolean): string {
  const characters = [...text];
  for (const [at, character] of characters.entries()) {
    const kinds = ['0123456789', 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    const kind = kinds.find((one) => one.includes(character)) ?? '';
    const from = randomInt(Math.max(1, kind.length));
    const others = [...kind.slice(from), ...kind.slice(0, from)].filter((one) => one !== character);
    characters[at] = others.find((one) => fits(characters.with(at, one).join(''))) ?? character;
  }
  return characters.join('');
}

/** Returns a date with its time as it was, some days earlier. */
function shifted(text: string, days: number): string {
  const moment = Date.parse(`${text.slice(0, 10)}T00:00:00Z`);
  if (Number.isNaN(moment)) return text;
  return new Date(moment - days * DAY_MS).toISOString().slice(0, 10) + text.slice(10);
}

function earlier(epoch: number, days: number): number {
  const isMs = epoch > 1e11;
  return epoch - (days * DAY_MS) / (isMs ? 1 : 1000);
}
