/*
 * Numbers beyond 2^53. A double cannot hold their digits, so they are kept as text: parseJson() gives the text, and
 * exactNumber() writes it as a number again.
 */

/** From here on, JSON.stringify() writes a double with an exponent. */
const WRITTEN_WITH_EXPONENT = 1e21;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const INTEGER = /^-?[1-9]\d{15,}$/;
/** Digits, the digits behind the point, and the exponent. */
const PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Members and items that were numbers in the parsed text, by the object or list that has them. */
const wereNumbers = new WeakMap<object, Set<string>>();

/** Returns whether a parsed number may have lost digits. */
export function isBeyondDouble(value: number): boolean {
  return value > Number.MAX_SAFE_INTEGER || value < -Number.MAX_SAFE_INTEGER;
}

/**
 * A reviver for JSON.parse(). Numbers beyond 2^53 become the text of their digits, also those beyond the range of a
 * double. A larger number with an exponent stays a number if it loses no digit.
 */
export function exactReviver(
  this: object,
  ...[name, value, context]: [name: string, value: unknown, context?: { source?: string }]
): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined || !isBeyondDouble(value)) return value;
  const kept = textOf(value, source);
  if (kept === undefined) return value;
  const names = wereNumbers.get(this) ?? new Set();
  wereNumbers.set(this, names.add(name));
  return kept;
}

/** Returns whether the text of a member or item was a number in the parsed text. */
export function wasNumber(holder: object, name: string | number): boolean {
  return wereNumbers.get(holder)?.has(String(name)) ?? false;
}

/** Returns a copy of a parsed value, with what wasNumber() knows of the value itself, at any level. */
export function withNumbersOf<Copy>(value: unknown, copy: Copy): Copy {
  noteNumbers(value, copy);
  return copy;
}

/** Returns a copy of a list or object as withNumbersOf(), for its own items or members alone. */
export function withOwnNumbersOf<Copy extends object>(value: object, copy: Copy): Copy {
  const names = wereNumbers.get(value);
  if (names) wereNumbers.set(copy, names);
  return copy;
}

function noteNumbers(from: unknown, to: unknown): void {
  if (typeof from !== 'object' || from === null || typeof to !== 'object' || to === null) return;
  withOwnNumbersOf(from, to);
  for (const [name, member] of Object.entries(from)) noteNumbers(member, Reflect.get(to, name));
}

/** Returns a parsed value as JSON, with the numbers beyond 2^53 that its text had as numbers. */
export function exactJsonText(value: unknown): string {
  return JSON.stringify(value, function (this: object, name: string, member: unknown): unknown {
    return typeof member === 'string' && wasNumber(this, name) ? JSON.rawJSON(member) : member;
  });
}

/** Returns whether a text is a number whose digits a double cannot hold. */
export function isExactNumber(text: string): boolean {
  return text.length > 4 && NUMBER.test(text) && isBeyondDouble(Number(text));
}

/** Returns whether a text is an integer beyond 2^53. */
export function isExactInteger(text: string): boolean {
  return INTEGER.test(text) && isBeyondDouble(Number(text));
}

function textOf(value: number, source: string): string | undefined {
  if (!/[eE]/.test(source)) return source;
  if (Math.abs(value) < WRITTEN_WITH_EXPONENT) return withoutExponent(source);
  return Number.isFinite(value) && digitsOf(source) === digitsOf(String(value)) ? undefined : source;
}

/** Returns a number whose exponent is positive and small as plain digits. */
function withoutExponent(source: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = PARTS.exec(source) ?? [];
  const shift = Number(exponent);
  const all = `${whole}${fraction}`.padEnd(whole.length + shift, '0');
  const point = whole.length + shift;
  const integer = all.slice(0, point).replace(/^0+(?=\d)/, '');
  const rest = all.slice(point).replace(/0+$/, '');
  return `${sign}${integer}${rest === '' ? '' : `.${rest}`}`;
}

/** Returns the digits of a number without zeros around them, and the place of its point. */
function digitsOf(source: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = PARTS.exec(source) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const point = Number(exponent) - fraction.length + digits.length;
  return `${sign}${digits.replace(/0+$/, '')}e${point}`;
}
