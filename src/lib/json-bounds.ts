import { GatehouseError } from './errors.ts';

/*
 * Bounds for JSON from clients. Schemas describe a fault of each wrong value, which costs a hundred times as much as
 * to parse the value.
 */

/** The most values of a JSON text, in all. */
const MAX_VALUES = 200_000;
/** The most values outside of FREE members, where a schema names every member. */
const MAX_NAMED_VALUES = 20_000;
/** The most members of one object outside of FREE members. */
const MAX_NAMED_MEMBERS = 1000;
/** The most members of one object inside of FREE members. */
const MAX_FREE_MEMBERS = 20_000;
/** Each member takes at least five characters, with its separator: a shorter text passes every bound. */
const SHORT_TEXT = 5 * MAX_NAMED_MEMBERS;

/** Members whose content the client names: inputs of actions, records, documents. */
const FREE: ReadonlySet<string> = new Set([
  'input',
  'parameters',
  'arguments',
  'metadata',
  'data',
  'given',
  'definition',
  'overlay',
  'openapi',
]);
/** The longest name in FREE. */
const LONGEST_FREE = 10;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const LIST = 91;
const BACKSLASH = 92;
const LIST_END = 93;
const OBJECT = 123;
const OBJECT_END = 125;

/**
 * Counts the values and members of a JSON text before it is parsed. `free`: no schema names its members.
 * @throws GatehouseError `invalid_request` beyond a bound
 */
export function assertJsonBounds(text: string, { free = false }: { free?: boolean } = {}): void {
  if (text.length < SHORT_TEXT) return;
  const scan = new Scan(free);
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        scan.string(text, at + 1, end);
        at = end;
        break;
      }
      case COLON:
        scan.name();
        break;
      case COMMA:
        scan.value();
        break;
      case LIST:
      case OBJECT:
        scan.open(text.charCodeAt(at) === OBJECT);
        break;
      case LIST_END:
      case OBJECT_END:
        scan.close();
        break;
    }
  }
}

/** Returns whether arguments of a tool hold more than a schema that names their members should walk. */
export function hasManyNamed(value: unknown): boolean {
  let left = MAX_NAMED_VALUES;
  const exceeds = (one: unknown): boolean => {
    left -= 1;
    if (left < 0) return true;
    if (typeof one !== 'object' || one === null) return false;
    if (Array.isArray(one)) return one.length > left || one.some(exceeds);
    let members = 0;
    for (const [name, member] of Object.entries(one)) {
      members += 1;
      if (members > MAX_NAMED_MEMBERS) return true;
      if (!FREE.has(name) && exceeds(member)) return true;
    }
    return false;
  };
  return exceeds(value);
}

/** Returns whether a value holds more than `most` values. It stops at the first one beyond. */
export function holdsMoreThan(value: unknown, most: number): boolean {
  let left = most;
  const exceeds = (one: unknown): boolean => {
    left -= 1;
    if (left < 0) return true;
    if (typeof one !== 'object' || one === null) return false;
    if (Array.isArray(one)) return one.length > left || one.some(exceeds);
    for (const name in one) if (exceeds(Reflect.get(one, name))) return true;
    return false;
  };
  return exceeds(value);
}

/** The counts of a text so far. */
class Scan {
  #values = 1;
  #named = 1;
  /** The depth at which the outermost FREE member began; 0 outside of one. */
  #freeFrom = 0;
  /** Commas in each open object; -1 for a list. */
  readonly #open: number[] = [];
  #last = '';
  #nextIsFree = false;
  readonly #free: boolean;

  constructor(free: boolean) {
    this.#free = free;
  }

  string(text: string, from: number, to: number): void {
    this.#last = to - from <= LONGEST_FREE ? text.slice(from, to) : '';
  }

  /** A colon: the string before it was the name of a member. */
  name(): void {
    this.#nextIsFree = FREE.has(this.#last);
  }

  /** A comma: another value follows. */
  value(): void {
    this.#count();
    this.#nextIsFree = false;
    const at = this.#open.length - 1;
    const commas = this.#open[at] ?? -1;
    if (commas < 0) return;
    this.#open[at] = commas + 1;
    const most = this.#isFree() ? MAX_FREE_MEMBERS : MAX_NAMED_MEMBERS;
    if (commas + 2 > most) throw tooMuch(`has an object of more than ${figure(most)} members`);
  }

  open(isObject: boolean): void {
    this.#count();
    this.#open.push(isObject ? 0 : -1);
    if (this.#nextIsFree && this.#freeFrom === 0) this.#freeFrom = this.#open.length;
    this.#nextIsFree = false;
  }

  close(): void {
    if (this.#open.length === this.#freeFrom) this.#freeFrom = 0;
    this.#open.pop();
  }

  #isFree(): boolean {
    return this.#free || this.#freeFrom > 0;
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > MAX_VALUES) throw tooMuch(`holds more than ${figure(MAX_VALUES)} values`);
    if (this.#isFree()) return;
    this.#named += 1;
    if (this.#named > MAX_NAMED_VALUES)
      throw tooMuch(`holds more than ${figure(MAX_NAMED_VALUES)} values outside of its free members`);
  }
}

/** Returns the end of the string that begins at `start`: the next quote that no odd run of backslashes escapes. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}

function figure(count: number): string {
  return count.toLocaleString('en');
}

function tooMuch(what: string): GatehouseError {
  return new GatehouseError('invalid_request', `The body ${what}. Send it in parts.`, {
    details: { faults: [{ field: '(whole)', rule: what }] },
  });
}
