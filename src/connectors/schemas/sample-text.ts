import { z } from 'zod';
import { compilePattern } from '../../lib/linear-pattern.ts';
import type { JsonSchema } from '../format/format.ts';
import { proposalFor } from './sample-pattern.ts';

const shape = z.looseObject({
  format: z.string().default(''),
  pattern: z.string().optional(),
  minLength: z.int().default(0),
  maxLength: z.int().default(Infinity),
});

const BY_FORMAT: { readonly [format: string]: string } = {
  email: 'ada@example.com',
  'idn-email': 'ada@example.com',
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  'iso-date-time': '2026-01-31T12:00:00Z',
  time: '12:00:00Z',
  'iso-time': '12:00:00Z',
  duration: 'P1D',
  uri: 'https://example.com',
  url: 'https://example.com',
  'uri-reference': '/example',
  iri: 'https://example.com',
  'uri-template': 'https://example.com/{id}',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '7d444840-9dc0-11d1-b245-5ffdce74fad2',
  'json-pointer': '/example',
  'relative-json-pointer': '0',
  regex: '^example$',
  byte: 'ZXhhbXBsZQ==',
};

/** Texts of the kinds that most patterns describe. */
const USUAL = [
  ...Object.values(BY_FORMAT),
  '1001',
  '1',
  '100100100100100',
  'example',
  'EXAMPLE',
  'USD',
  'usd',
  'US',
  'us',
  'en-US',
  'en_US',
  '10.00',
  '#336699',
  '336699',
  '12:00',
  '2026-01',
  '+12025550123',
  'example/example',
  '2026-01-31T12:00:00',
  '2026-01-31 12:00:00',
  '7d4448409dc011d1b2455ffdce74fad27d444840',
  'C024BE91L',
  'gid://shopify/Product/1001',
];

/** Maximum length of an example. */
const MAX_LENGTH = 2000;
const MAX_BRANCHES = 5;

/**
 * Returns a text for a schema of type string: by its format, its pattern, its length. `turn` counts texts that must
 * differ.
 */
export function textOf(schema: JsonSchema, { name, turn }: { name: string; turn: number }): string {
  const { format, pattern, minLength, maxLength } = shape.parse(schema);
  const plain = BY_FORMAT[format] ?? namedText(name, turn);
  const fits = (text: string) => text.length >= minLength && text.length <= maxLength;
  const fitted = plain.padEnd(Math.min(minLength, MAX_LENGTH), 'x').slice(0, maxLength);
  if (pattern === undefined) return fitted;
  const compiled = compilePattern(pattern);
  const good = (text: string | undefined) => text !== undefined && fits(text) && compiled.test(text);
  return [fitted, ...USUAL].find(good) ?? madeFor(pattern, { turn, minLength, good }) ?? fitted;
}

/** Returns the first generated text that is valid: few repetitions first, and each alternative in turn. */
function madeFor(
  pattern: string,
  { turn, minLength, good }: { turn: number; minLength: number; good: (text: string | undefined) => boolean },
): string | undefined {
  for (const more of [0, 1, 2, 4, 8, minLength].slice(0, minLength > 8 ? 6 : 5)) {
    for (let branch = 0; branch < MAX_BRANCHES; branch++) {
      const text = proposalFor(pattern, { more, branch, turn });
      if (good(text)) return text;
    }
  }
  return undefined;
}

/** Texts by the end of a member's name, in lower case without separators. The first that fits counts. */
const BY_NAME: readonly [name: RegExp, text: string][] = [
  [/e?mail(address)?$/, 'ada@example.com'],
  [/(first|given)name$/, 'Ada'],
  [/(last|family|sur)name$/, 'Lovelace'],
  [/(user|login)name$|^login$|^handle$/, 'ada'],
  [/(host|domain)(name)?$/, 'example.com'],
  [/file(name)?$/, 'plan.pdf'],
  [/(company|organi[sz]ation)(name)?$/, 'Example Ltd'],
  [/(full|display|customer|contact|author|owner)name$/, 'Ada Lovelace'],
  [/(ur[il]|website|homepage|href)$/, 'https://example.com'],
  [/(phone|mobile|fax|telephone)(number)?$/, '+12025550123'],
  [/currency(code)?$/, 'EUR'],
  [/country(code)?$/, 'DE'],
  [/(locale|language|lang)(code)?$/, 'en'],
  [/time_?zone$|^tz$/, 'Europe/Berlin'],
  [/city$|^town$/, 'Berlin'],
  [/(postal|zip)(code)?$|postcode$/, '10115'],
  [/(street|address(line)?1?|line1)$/, 'Main Street 1'],
  [/(amount|price|total)$/, '10.00'],
  [/colou?r$/, '#336699'],
];

function namedText(name: string, turn: number): string {
  const key = name.replaceAll(/[^A-Za-z0-9]+/g, '').toLowerCase();
  const known = turn === 0 ? BY_NAME.find(([pattern]) => pattern.test(key))?.[1] : undefined;
  if (known !== undefined) return known;
  return /id$/i.test(name) ? String(1001 + turn) : wordsOf(name, turn);
}

/** Returns words for a name: `productName` becomes "Example product name". */
function wordsOf(name: string, turn: number): string {
  const words = name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').replaceAll(/[^A-Za-z0-9]+/g, ' ');
  return `Example ${words.trim().toLowerCase() || 'text'}${turn === 0 ? '' : ` ${turn + 1}`}`;
}
