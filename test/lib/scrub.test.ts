import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { scrub, secretsIn as found } from '../../src/lib/scrub.ts';
import { Secret } from '../../src/lib/secret.ts';

/** Searches for secrets given as texts. */
function secretsIn(bytes: Buffer | string, secrets: string[]): string[] {
  return found(
    bytes,
    secrets.map((secret) => new Secret(secret)),
  );
}

const SECRET = 'sk_live_51Hn+/=ü"key&more?';

const FORMS: [string, string][] = [
  ['as it is', SECRET],
  ['in base64', Buffer.from(SECRET).toString('base64')],
  ['in base64 without padding', Buffer.from(SECRET).toString('base64').replace(/=+$/, '')],
  ['in base64url', Buffer.from(SECRET).toString('base64url')],
  ['in hex', Buffer.from(SECRET).toString('hex')],
  ['in upper-case hex', Buffer.from(SECRET).toString('hex').toUpperCase()],
  ['in a URL', encodeURIComponent(SECRET)],
  [
    'in a URL with lower-case digits',
    encodeURIComponent(SECRET).replaceAll(/%../g, (code) => code.toLowerCase()),
  ],
  ['in a form', new URLSearchParams({ v: SECRET }).toString().slice(2)],
  ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
  ['in a URL, encoded twice', encodeURIComponent(encodeURIComponent(SECRET))],
  ['in a URL with every byte encoded', percentEncoded(SECRET)],
  ['in a URL with every byte encoded twice', percentEncoded(SECRET).replaceAll('%', '%25')],
  ['in HTML', SECRET.replaceAll('&', '&amp;').replaceAll('"', '&quot;')],
  [
    'in HTML with other characters as numbers',
    SECRET.replaceAll(/[^\w]/g, (one) => `&#${one.charCodeAt(0)};`),
  ],
  ['in HTML with every character as a number', SECRET.replaceAll(/./g, (one) => `&#${one.charCodeAt(0)};`)],
  [
    'in HTML with every character as a hexadecimal number',
    SECRET.replaceAll(/./g, (one) => `&#x${one.charCodeAt(0).toString(16).toUpperCase()};`),
  ],
];

function percentEncoded(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

test.each(FORMS)('a secret %s is removed from a text', (_how, form) => {
  const text = `the key ${form} is not known, ${form}.`;
  expect(scrub(text, [SECRET])).toBe('the key [secret] is not known, [secret].');
});

test.each(FORMS)('a secret %s is noticed in a text and in its bytes', (_how, form) => {
  const text = JSON.stringify({ key: `it is ${form}.` }).replaceAll('/', '\\/');
  expect(secretsIn(text, [SECRET, 'another_secret'])).toEqual([SECRET]);
  expect(secretsIn(Buffer.from(text), ['another_secret', SECRET])).toEqual([SECRET]);
  expect(secretsIn(Buffer.from('{"key":"none"}'), [SECRET])).toEqual([]);
});

test.each([0, 1, 2, 3])('a secret within base64 after %i other bytes is removed', (before) => {
  const text = Buffer.from(`${'x'.repeat(before)}${SECRET} and more`).toString('base64');
  for (const form of [text, text.replaceAll('+', '-').replaceAll('/', '_')]) {
    expect(secretsIn(form, [SECRET])).toEqual([SECRET]);
    expect(Buffer.from(scrub(form, [SECRET]).replace('[secret]', ''), 'base64').toString()).not.toContain(
      'sk_live',
    );
    expect(scrub(form, [SECRET])).toContain('[secret]');
  }
});

test('a secret of four to seven characters is removed only as a word', () => {
  expect(scrub('test, latest, test1, (test)', ['test'])).toBe('[secret], latest, test1, ([secret])');
});

test('the rest of a secret that contains another one is removed too', () => {
  expect(scrub('got prefix-and-rest', ['prefix', 'prefix-and-rest'])).toBe('got [secret]');
});

test('a value too short for a secret stays in the text', () => {
  expect(scrub('a b c abc', ['a', 'abc', ''])).toBe('a b c abc');
});

test('no text holds a secret afterwards, in any context', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 8 }), fc.string(), fc.string(), (secret, before, after) => {
      fc.pre(!'[secret]'.includes(secret) && !secret.includes('[secret]'));
      expect(scrub(before + secret + after, [secret])).not.toBe(before + secret + after);
    }),
  );
});

test('a long secret is removed whole, with any of its characters encoded', () => {
  const long = Array.from({ length: 500 }, (_, at) => `${at.toString(36)}/`).join('');
  const mixed = [...long].map((one, at) => (at % 3 === 0 ? percentEncoded(one) : one)).join('');
  expect(scrub(`<${mixed}>`, [long]).replaceAll('[secret]', '')).toBe('<>');
});

test('encoded text that is no secret stays', () => {
  const text = 'a%20b &amp; c &#43; sk_live %73%6B';
  expect(scrub(text, [SECRET])).toBe(text);
  expect(secretsIn(text, ['sk_0123456789abcdef'])).toEqual([]);
});
