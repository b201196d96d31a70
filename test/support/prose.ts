import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/** A sentence of a comment, a test title, a log message, an API text or a page of the documentation. */
export interface Sentence {
  /** Path from the root of the repository, and line. */
  at: string;
  text: string;
  /** The function whose call has this title; undefined for other prose. */
  titleOf: TitleFunction | undefined;
}

type TitleFunction = 'test' | 'describe';

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
  const sentence = (index: number, words: string, titleOf?: TitleFunction): Sentence => ({
    at: `${file}:${text.slice(0, index).split('\n').length}`,
    text: words,
    titleOf,
  });
  const prose = ([index, words]: Part): Sentence[] => sentencesOf(words).map((one) => sentence(index, one));
  if (file.endsWith('.md')) return paragraphs(text).flatMap(prose);
  const plain = [
    ...comments(text),
    ...literals(text, LOG),
    ...(file.startsWith('src') ? literals(text, API) : []),
  ];
  const titles = file.includes('.test.') ? titlesOf(text) : [];
  return [
    ...plain.flatMap(prose),
    ...titles.map(({ index, words, titleOf }) => sentence(index, words, titleOf)),
  ];
}

/** Words, and where they begin in the file. */
type Part = [index: number, words: string];

const STRING = String.raw`(['"\x60])((?:\\.|(?!\1).)*)\1`;
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

interface Title {
  index: number;
  words: string;
  titleOf: TitleFunction;
}

interface Node {
  type?: string;
  start: number;
  end: number;
  [member: string]: unknown;
}

/** Returns the titles of `test(…)` and `describe(…)`, also behind `.each(…)` and the like. */
function titlesOf(text: string): Title[] {
  return nodesOf(parseAst(text, { lang: 'ts' })).flatMap((node): Title[] => {
    const title = node.type === 'CallExpression' && Array.isArray(node['arguments']) && node['arguments'][0];
    const name = isNode(title) ? calledName(node) : undefined;
    if (!isNode(title) || (name !== 'test' && name !== 'describe')) return [];
    const isText = typeof title['value'] === 'string' || title.type === 'TemplateLiteral';
    const words = text.slice(title.start + 1, title.end - 1).replaceAll(/\\(['"`])/g, '$1');
    return isText ? [{ index: title.start, words, titleOf: name }] : [];
  });
}

/** Returns the name at the beginning of a called expression: `test` for `test.each(…)(…)`. */
function calledName(node: Node): unknown {
  const inner = node['callee'] ?? node['object'] ?? node['tag'];
  return isNode(inner) ? calledName(inner) : node['name'];
}

function nodesOf(value: unknown): Node[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.values(value).flatMap(nodesOf);
  return isNode(value) ? [value, ...below] : below;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
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
