import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';

/*
 * The doc comments in the files of the format are the descriptions of the fields. This hook loads those files with each
 * comment as the description of its zod schema, so the printed schemas have the same texts.
 */

const FORMAT = resolve(import.meta.dirname, '../../src/connectors/format');

interface Edit {
  at: number;
  text: string;
}

/** Makes later imports of the format's files carry their doc comments as descriptions. */
export function describeFormat(): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.startsWith('file:')) return loaded;
      const path = fileURLToPath(url);
      if (dirname(path) !== FORMAT) return loaded;
      return { ...loaded, source: described(readFileSync(path, 'utf8'), path) };
    },
  });
}

/** Returns the code with `.meta({description})` on each schema that has a doc comment. */
function described(code: string, path: string): string {
  const edits = commented(parseAst(code, { lang: 'ts' }, path)).flatMap(({ start, value, name }): Edit[] => {
    const text = commentBefore(code, start);
    if (text === undefined) return [];
    const open = `${name}((one) => one?._zod ? one.meta({ description: ${JSON.stringify(text)} }) : one)(`;
    return [
      { at: value.start, text: open },
      { at: value.end, text: ')' },
    ];
  });
  return edits
    .toSorted((a, b) => b.at - a.at)
    .reduce((all, { at, text }) => all.slice(0, at) + text + all.slice(at), code);
}

/** A part of the code that may have a comment: a member, an entry of a list, or a constant. */
interface Commented {
  start: number;
  value: Node;
  /** The name to write before the value, for a member that is only a name. */
  name: string;
}

interface Node {
  type: string;
  start: number;
  end: number;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value;
}

function commented(node: unknown): Commented[] {
  if (Array.isArray(node)) return node.flatMap(commented);
  if (!isNode(node)) return [];
  return [...ownCommented(node), ...Object.values(node).flatMap(commented)];
}

function ownCommented(node: Node): Commented[] {
  const { key, value, shorthand, elements, declaration, declarations }: Record<string, unknown> = { ...node };
  if (node.type === 'Property' && isNode(key) && isNode(value)) {
    const name = shorthand === true && 'name' in key ? `${String(key.name)}: ` : '';
    return [{ start: node.start, value, name }];
  }
  if (node.type === 'ArrayExpression' && Array.isArray(elements))
    return elements.filter(isNode).map((value) => ({ start: value.start, value, name: '' }));
  // An export begins before its declaration, and has the comment.
  if (node.type === 'ExportNamedDeclaration' && isNode(declaration))
    return ownCommented(declaration).map((one) => ({ ...one, start: node.start }));
  if (node.type !== 'VariableDeclaration' || !Array.isArray(declarations)) return [];
  const { init }: Record<string, unknown> = { ...declarations[0] };
  return isNode(init) ? [{ start: node.start, value: init, name: '' }] : [];
}

/** Returns the text of the doc comment right before a place, in one line. */
function commentBefore(code: string, place: number): string | undefined {
  const before = code.slice(0, place).trimEnd();
  if (!before.endsWith('*/')) return undefined;
  const comment = before.slice(before.lastIndexOf('/*'));
  if (!comment.startsWith('/**')) return undefined;
  return comment
    .slice(3, -2)
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trim())
    .join(' ')
    .trim();
}
