import { GatehouseError } from '../lib/errors.ts';

/** Smaller answers are parsed as they come: that takes a few milliseconds at most. */
const LARGE_BYTES = 64 * 1024;
/** 10 MiB of `{},` are 3.5 million values: a second of the event loop and 400 MB. Records of apps have 25 bytes a value. */
const MAX_VALUES = 500_000;

const QUOTE = 34;
const COMMA = 44;
const LIST = 91;
const BACKSLASH = 92;
const OBJECT = 123;

/** Turns to parse large answers: one at a time, and whatever else is due in the event loop comes between two. */
export type Turns = (bytes: number) => Promise<void> | undefined;

export function createTurns(): Turns {
  let last = Promise.resolve();
  const yieldOnce = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  return (bytes) => {
    if (bytes < LARGE_BYTES) return undefined;
    last = last.then(yieldOnce);
    return last;
  };
}

/** Refuses JSON that would take the event loop for too long, before it is parsed. @throws GatehouseError `upstream_too_large` */
export function assertFewValues(bytes: Buffer): void {
  // Each value takes two bytes at least, with what parts it from the next.
  if (bytes.length < 2 * MAX_VALUES || countValues(bytes) <= MAX_VALUES) return;
  throw new GatehouseError(
    'upstream_too_large',
    `The answer holds more than ${MAX_VALUES.toLocaleString('en')} values. Ask for less of it.`,
  );
}

/** About how many values JSON holds: its commas and openings outside of texts. Stops beyond the limit. */
function countValues(bytes: Buffer): number {
  let values = 1;
  for (let at = 0; at < bytes.length && values <= MAX_VALUES; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfText(bytes, at);
    else if (byte === COMMA || byte === LIST || byte === OBJECT) values++;
  }
  return values;
}

/** Where the text that begins at `start` ends: at the next quote that no odd run of backslashes escapes. */
function endOfText(bytes: Buffer, start: number): number {
  for (let at = bytes.indexOf(QUOTE, start + 1); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let escapes = 0;
    while (bytes[at - 1 - escapes] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return bytes.length;
}
