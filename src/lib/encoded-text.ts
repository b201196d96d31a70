/* Texts as they look inside of addresses and HTML, where any character may be encoded, and more than once. */

/** Longer texts are searched in parts, because an expression of thousands of alternatives is slow to compile. */
const PART_CHARS = 256;

const NAMED: { [character: string]: string } = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' };

/** Returns whether a text may hold encoded characters. */
export function mayEncode(text: string): boolean {
  return text.includes('%') || text.includes('&');
}

/** Returns expressions that together match a text in which some or all characters are encoded. */
export function encodedForms(text: string): RegExp[] {
  const characters = [...text.toWellFormed()];
  const parts = Math.ceil(characters.length / PART_CHARS);
  const size = Math.ceil(characters.length / parts);
  return Array.from({ length: parts }, (_, part) => {
    const own = characters.slice(part * size, (part + 1) * size);
    return new RegExp(own.map(formsOf).join(''), 'gu');
  });
}

/**
 * Returns the begin of a text with every byte percent-encoded, and with every character as an HTML entity. A search for
 * them finds such a text in a large answer.
 */
export function encodedBegins(text: string): { percent: string[]; entities: string[] } {
  const characters = [...text.toWellFormed()].slice(0, 8);
  const bytes = Buffer.from(characters.join(''));
  const percent = [...bytes].map((byte) => byte.toString(16).padStart(2, '0'));
  const entity = (of: (code: number) => string) =>
    characters.map((one) => `&#${of(one.codePointAt(0) ?? 0)};`).join('');
  const hex = (code: number) => code.toString(16);
  return {
    percent: ['%', '%25'].flatMap((sign) => [
      percent.map((code) => sign + code).join(''),
      percent.map((code) => sign + code.toUpperCase()).join(''),
    ]),
    entities: [
      entity(String),
      entity((code) => `x${hex(code)}`),
      entity((code) => `x${hex(code).toUpperCase()}`),
    ],
  };
}

/** Returns the alternatives of one character. */
function formsOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const percent = [...Buffer.from(character)]
    .map((byte) => `%(?:25)*${anyCase(byte.toString(16).padStart(2, '0'))}`)
    .join('');
  const name = NAMED[character];
  const entities = [`#0*${code}`, `#[xX]0*${anyCase(code.toString(16))}`, ...(name ? [name] : [])];
  const plain = `\\u{${code.toString(16)}}${character === ' ' ? '|\\+' : ''}`;
  return `(?:${plain}|${percent}|&(?:amp;)*(?:${entities.join('|')});)`;
}

function anyCase(hex: string): string {
  return hex.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
