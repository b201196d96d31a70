import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { readProse, type Sentence } from './support/prose.ts';

const ROOT = resolve(import.meta.dirname, '..');
const PLACES = [
  'src',
  'test',
  'bin',
  'docs',
  'rolldown.config.ts',
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
];
const MAX_TITLE = 80;

const prose = readProse(ROOT, PLACES);

/** The rules of CONTRIBUTING.md, "Prose". */
const RIDDLE =
  /^["'(]?(Who|Whoever|Whose|Whom|What|Of|Those|One (that|who|which|whose)|For (who|what))\b(?! (if|happens)\b)/i;
const NOBODY = /\b(nobody|somebody|anybody|whoever|whomever)\b/i;
const ODD =
  /\b(anew|meanwhile|beside|by itself|by themselves|so many|mend(s|ed|ing)?|befall\w*|hears? of|heard of|likes|whom|knock(s|ed|ing)?)\b/i;
const TELL = /\b(tells?|telling|told)\b(?! apart)/i;

/** First words of titles that need their `describe` for a subject. Verbs that are also plural nouns are not listed. */
const NO_SUBJECT = new Set(
  [
    'is are was were has have had does do did may must can cannot never need needs',
    'that which whose it its they their there where when whether and or but such',
    'with without by to of for in from through beyond below inside',
    'accepts adds allows appears asks begins belongs carries checks chooses closes comes connects continues creates',
    'deletes describes disables echoes ends executes expires explains fails fills finds follows forwards gets gives',
    'goes happens hides holds ignores includes keeps knows leaves lets loses makes maps marks moves nests',
    'opens passes prints proposes quotes reaches refuses rejects repeats replaces returns runs says sees',
    'sends serves shows signs skips sorts speaks splits starts stays stops stores survives takes turns uses verifies',
    'waits wakes works',
  ].flatMap((line) => line.split(' ')),
);

function breaking(breaks: (sentence: Sentence) => unknown): string[] {
  return prose.filter(breaks).map(({ at, text }) => `${at} ${text.slice(0, 100)}`);
}

test('a sentence begins with its subject', () => {
  expect(breaking(({ text }) => RIDDLE.test(text))).toEqual([]);
});

test('a sentence names the actor', () => {
  expect(breaking(({ text }) => NOBODY.test(text))).toEqual([]);
});

test('prose uses the plain word', () => {
  expect(breaking(({ text }) => ODD.test(text) || TELL.test(text))).toEqual([]);
});

test('a test title is one clause of 80 characters or fewer', () => {
  expect(breaking(({ text, titleOf }) => titleOf && (text.includes(';') || text.length > MAX_TITLE))).toEqual(
    [],
  );
});

test('a test title begins with its subject', () => {
  expect(
    breaking(({ text, titleOf }) => titleOf === 'test' && NO_SUBJECT.has(text.split(' ')[0] ?? '')),
  ).toEqual([]);
});
