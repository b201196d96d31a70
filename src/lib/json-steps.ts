import { MAX_JSON_DEPTH, parseJson, type Json, type JsonObject } from './json.ts';

/** Resolves when the event loop is free for another step of a few milliseconds. */
export type Pause = () => Promise<void>;

/** Thrown when the text has more values than parseInSteps() may parse. */
export class TooManyValues extends Error {}

/** 10 MiB of `{},` are 3.5 million values, which take 400 MB. Records of apps have 25 bytes a value. */
export const MAX_VALUES = 500_000;
/** Smaller texts are parsed as they come: that takes a millisecond or two. */
const LARGE_BYTES = 64 * 1024;
/** A part of this size is parsed at once: it takes a millisecond or two. */
const PART_BYTES = 128 * 1024;
/** Number of bytes searched for the ends of values between two pauses. */
const SEARCHED_BYTES = 1024 * 1024;
/** Lists and objects are split down to this level. Each level searches the bytes again. */
const LEVELS = 4;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const LIST = 91;
const BACKSLASH = 92;
const LIST_END = 93;
const OBJECT = 123;
const OBJECT_END = 125;

/** The bytes and the pause that all levels of a search share. */
interface Search {
  bytes: Buffer;
  pause: Pause;
}

/** The bytes of one value, or of several with their commas: `from` is the first byte, `to` the one after the last. */
interface Range {
  from: number;
  to: number;
}

/**
 * Parses UTF-8 JSON from outside, a large text in steps.
 * @throws TooManyValues beyond MAX_VALUES, SyntaxError, RangeError as parseJson()
 */
export async function parseBytes(bytes: Buffer, pause: Pause): Promise<Json> {
  if (bytes.length < LARGE_BYTES) return parseJson(bytes.toString('utf8'));
  return parseInSteps(bytes, MAX_VALUES, pause);
}

/**
 * Parses UTF-8 JSON as parseJson() does, in parts with a pause between them. 10 MiB in one part would block the event
 * loop for 100 ms.
 * @throws TooManyValues before anything is parsed, SyntaxError, RangeError as parseJson()
 */
export async function parseInSteps(bytes: Buffer, maxValues: number, pause: Pause): Promise<Json> {
  await assertFewValues({ bytes, pause }, maxValues);
  return parseRange({ bytes, pause }, trimmed(bytes, { from: 0, to: bytes.length }), 0);
}

async function parseRange(search: Search, range: Range, level: number): Promise<Json> {
  const { bytes } = search;
  const first = bytes[range.from];
  const last = bytes[range.to - 1];
  const isList = first === LIST && last === LIST_END;
  const isObject = first === OBJECT && last === OBJECT_END;
  if (level === LEVELS || range.to - range.from <= PART_BYTES || !(isList || isObject))
    return parseJson(bytes.toString('utf8', range.from, range.to), MAX_JSON_DEPTH - level);
  const list: Json[] = [];
  const object: JsonObject = {};
  for (const part of await partsOf(search, range)) {
    await search.pause();
    if (isList) await addItems(search, list, { part, level });
    else await addMembers(search, object, { part, level });
  }
  return isList ? list : object;
}

async function addItems(
  search: Search,
  list: Json[],
  { part, level }: { part: Range; level: number },
): Promise<void> {
  const { bytes } = search;
  if (isLarge(part)) {
    list.push(await parseRange(search, trimmed(bytes, part), level + 1));
    return;
  }
  const items = parseJson(`[${textOf(bytes, part)}]`, MAX_JSON_DEPTH - level);
  if (Array.isArray(items)) for (const item of items) list.push(item);
}

async function addMembers(
  search: Search,
  object: JsonObject,
  { part, level }: { part: Range; level: number },
): Promise<void> {
  const { bytes } = search;
  const { from, to } = trimmed(bytes, part);
  if (isLarge(part) && bytes[from] === QUOTE) {
    const nameEnd = endOfText(bytes, from) + 1;
    const colon = trimmed(bytes, { from: nameEnd, to }).from;
    if (bytes[colon] !== COLON) throw new SyntaxError('a member has no colon behind its name');
    const name = parseJson(bytes.toString('utf8', from, nameEnd));
    const value = await parseRange(search, trimmed(bytes, { from: colon + 1, to }), level + 1);
    // Drops the member as parseJson() does, so that no later merge can reach a prototype.
    if (name !== '__proto__') object[String(name)] = value;
    return;
  }
  Object.assign(object, parseJson(`{${textOf(bytes, part)}}`, MAX_JSON_DEPTH - level));
}

/** Returns the text of a part. An empty part stands between two commas; in brackets alone it would be valid JSON. */
function textOf(bytes: Buffer, { from, to }: Range): string {
  const text = bytes.toString('utf8', from, to);
  if (text.trim() === '') throw new SyntaxError('a value is missing');
  return text;
}

/**
 * Splits the content of a list or object at its own commas, into parts of PART_BYTES. A larger value is a part of its
 * own.
 */
async function partsOf({ bytes, pause }: Search, { from, to }: Range): Promise<Range[]> {
  const parts: Range[] = [];
  let depth = 0;
  let begin = from + 1;
  let lastComma = from;
  let pauseAt = from + SEARCHED_BYTES;
  const end = (at: number): void => {
    if (at - lastComma > PART_BYTES || at - begin > PART_BYTES) {
      if (lastComma >= begin) parts.push({ from: begin, to: lastComma });
      begin = Math.max(begin, lastComma + 1);
    }
    lastComma = at;
  };
  for (let at = from + 1; at < to - 1; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfText(bytes, at);
    else if (byte === LIST || byte === OBJECT) depth++;
    else if (byte === LIST_END || byte === OBJECT_END) depth--;
    else if (byte === COMMA && depth === 0) end(at);
    if (depth < 0) throw new SyntaxError('a list or object ends twice');
    if (at < pauseAt) continue;
    pauseAt = at + SEARCHED_BYTES;
    await pause();
  }
  end(to - 1);
  if (begin < to) parts.push({ from: begin, to: to - 1 });
  return parts;
}

function isLarge({ from, to }: Range): boolean {
  return to - from > PART_BYTES;
}

/** Refuses JSON with more values than `maxValues`. It counts the commas and openings outside of texts. */
async function assertFewValues({ bytes, pause }: Search, maxValues: number): Promise<void> {
  // Each value takes at least two bytes, with its separator.
  if (bytes.length < 2 * maxValues) return;
  let values = 1;
  let pauseAt = SEARCHED_BYTES;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfText(bytes, at);
    else if (byte === COMMA || byte === LIST || byte === OBJECT) values++;
    if (values > maxValues) throw new TooManyValues();
    if (at < pauseAt) continue;
    pauseAt = at + SEARCHED_BYTES;
    await pause();
  }
}

/** Returns the end of the text that begins at `start`: the next quote that no odd run of backslashes escapes. */
function endOfText(bytes: Buffer, start: number): number {
  for (let at = bytes.indexOf(QUOTE, start + 1); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let escapes = 0;
    while (bytes[at - 1 - escapes] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return bytes.length;
}

/** Returns the range without the JSON blanks around it. */
function trimmed(bytes: Buffer, { from, to }: Range): Range {
  const isBlank = (byte: number | undefined) => byte === 32 || byte === 10 || byte === 13 || byte === 9;
  let first = from;
  let end = to;
  while (first < end && isBlank(bytes[first])) first++;
  while (end > first && isBlank(bytes[end - 1])) end--;
  return { from: first, to: end };
}
