import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A sentence of a comment, a test title, a log message, an API text or a page of the documentation. */
export interface Sentence {
  /** Path from the root of the repository, and line. */
  at: string;
  text: string;
  isTitle: boolean;
}

const CODE = /\.(tsx?|js)$/;
const SKIPPED = new Set(['node_modules', 'dist', '.git', '.cache']);

/** Reads the prose of these files and folders, from `root`. */
export function readProse(root: string, places: readonly string[]): Sentence[] {
  return places
    .flatMap((place) => filesBelow(join(root, place)))
    .filter((path) => CODE.test(path) || path.endsWith('.md'))
    .flatMap((path) => proseOf(relative(root, path), readFileSync(path, 'utf8')));
}

function filesBelow(path: string): string[] {
  if (/\.\w+$/.test(path)) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => !SKIPPED.has(name))
    .flatMap((entry) =>
      entry.isDirectory() ? filesBelow(join(path, entry.name)) : [join(path, entry.name)],
    );
}

function proseOf(file: string, text: string): Sentence[] {
  const part = ([index, words]: Part, isTitle: boolean): Sentence[] =>
    (isTitle ? [words] : sentencesOf(words)).map((one) => ({
      at: `${file}:${text.slice(0, index).split('\n').length}`,
      text: one,
      isTitle,
    }));
  if (file.endsWith('.md')) return paragraphs(text).flatMap((one) => part(one, false));
  const plain = [
    ...comments(text),
    ...literals(text, LOG),
    ...(file.startsWith('src') ? literals(text, API) : []),
  ];
  const titles = file.includes('.test.') ? literals(text, TITLE) : [];
  return [...plain.flatMap((one) => part(one, false)), ...titles.flatMap((one) => part(one, true))];
}

/** Words, and where they begin in the file. */
type Part = [index: number, words: string];

const STRING = String.raw`(['"\x60])((?:\\.|(?!\1).)*)\1`;
const TITLE = new RegExp(String.raw`\b(?:test|it|describe)(?:\.\w+)*(?:\([^)]*\))?\(\s*${STRING}`, 'g');
const LOG = new RegExp(
  String.raw`\blog(?:ger)?\.(?:trace|debug|info|warn|error|fatal)\((?:\{[^}]*\},\s*)?${STRING}`,
  'g',
);
const API = new RegExp(String.raw`\b(?:summary|description)(?::|\()\s*\(?\s*${STRING}`, 'g');

function literals(text: string, pattern: RegExp): Part[] {
  return [...text.matchAll(pattern)].map((match) => [
    match.index,
    (match[2] ?? '').replaceAll(/\\(['"`])/g, '$1'),
  ]);
}

const BLOCK = /(?<=^|\s)\/\*\*?([\s\S]*?)\*\//gm;
/** Lines of comment that follow each other, and comments behind code. */
const LINES = /(?:^[ \t]*\/\/ ?[^\n]*\n?)+|(?<=[;,){}\]] +)\/\/ [^\n]*/gm;

function comments(text: string): Part[] {
  const blocks = [...text.matchAll(BLOCK)].map((match): Part => [
    match.index,
    (match[1] ?? '').replaceAll(/^\s*\* ?/gm, ' '),
  ]);
  const lines = [...text.matchAll(LINES)].map((match): Part => [
    match.index,
    match[0].replaceAll(/^\s*\/\/ ?/gm, ' '),
  ]);
  return [...blocks, ...lines];
}

const CODE_BLOCK = /^```[\s\S]*?^```/gm;

function paragraphs(text: string): Part[] {
  const withoutCode = text.replaceAll(CODE_BLOCK, (block) => block.replaceAll(/[^\n]/g, ' '));
  return [...withoutCode.matchAll(/(?:[^\n]*\S[^\n]*\n?)+/g)].map((match) => [
    match.index,
    match[0].replaceAll(/^[#>*\-|\s\d.]+/gm, ' ').replaceAll('**', ''),
  ]);
}

const BREAK = /(?<=[.!?:])\s+(?=[A-Z`'"(@])|\s+@(?:throws|returns|param)\s+/;

function sentencesOf(words: string): string[] {
  return words
    .replaceAll(/`[^`]*`/g, '`x`')
    .replaceAll(/\s+/g, ' ')
    .split(BREAK)
    .map((one) => one.trim())
    .filter((one) => one !== '');
}
