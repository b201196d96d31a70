import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { compileExpression } from '../upstream/expression.ts';
import { memoByText } from '../lib/memo.ts';

/**
 * Finds the parts of the input that an expression may read, in its syntax tree. A tree that might read more than its
 * paths name (`$$`, `*` at the root, `$eval`, …) reads everything.
 */

/** Member names from the root of the input: `steps.a.data` as ['steps', 'a', 'data']. */
export type Path = string[];

const MAX_KEPT = 2000;
/** Returns the paths that an expression reads; undefined when it may read everything, or does not parse. */
export const pathsOf: (expression: string) => Promise<readonly Path[] | undefined> = memoByText(
  MAX_KEPT,
  (expression) =>
    compileExpression(expression, {}).then(
      (program) => pathsIn(program.ast()),
      () => undefined,
    ),
);

/** Returns a copy of a value with only the members on the paths. Paths pass through arrays, as in JSONata. */
export function projected(value: Json, paths: readonly Path[]): Json {
  if (paths.some((path) => path.length === 0)) return value;
  if (Array.isArray(value)) return value.map((one) => projected(one, paths));
  return isJsonObject(value) ? projectedMembers(value, paths) : value;
}

export function projectedMembers(value: JsonObject, paths: readonly Path[]): JsonObject {
  const byName = Map.groupBy(paths, ([name = '']) => name);
  return Object.fromEntries(
    [...byName].flatMap(([name, some]): [string, Json][] => {
      const member = Object.hasOwn(value, name) ? value[name] : undefined;
      if (member === undefined) return [];
      return [
        [
          name,
          projected(
            member,
            some.map((path) => path.slice(1)),
          ),
        ],
      ];
    }),
  );
}

function pathsIn(tree: unknown): readonly Path[] | undefined {
  const found: Path[] = [];
  try {
    visit(tree, { atRoot: true, found });
    return found;
  } catch (error) {
    if (error instanceof Everything) return undefined;
    throw error;
  }
}

/** Thrown when the expression may read everything. */
class Everything extends Error {}

interface Visit {
  /** Whether names here are members of the input; otherwise they are members of a value found in it. */
  atRoot: boolean;
  found: Path[];
}

type Node = JsonObject;

/** Functions that use the context for an omitted argument, with their number of arguments. */
const CONTEXTUAL = new Map([
  ['boolean', 1],
  ['clone', 1],
  ['each', 2],
  ['keys', 1],
  ['lookup', 2],
  ['not', 1],
  ['sift', 2],
  ['spread', 1],
  ['string', 1],
]);

/** Members of a node that are evaluated in its own context, by node type. An unknown type may read everything. */
const SAME_CONTEXT = new Map<unknown, string[]>([
  ['string', []],
  ['number', []],
  ['value', []],
  ['regex', []],
  ['operator', []],
  ['binary', ['lhs', 'rhs']],
  ['apply', ['lhs', 'rhs']],
  ['bind', ['rhs']],
  ['block', ['expressions']],
  ['condition', ['condition', 'then', 'else']],
  ['unary', ['lhs', 'expression', 'expressions']],
  ['lambda', ['body']],
  ['function', ['procedure', 'arguments']],
  ['partial', ['procedure', 'arguments']],
]);

function visit(node: unknown, at: Visit): void {
  if (Array.isArray(node)) return node.forEach((one) => visit(one, at));
  if (!isNode(node)) return;
  // `@`, `#` and `%` change the object that later names belong to.
  if (node['tuple'] === true) throw new Everything();
  visitFilters(node, at);
  switch (node['type']) {
    case 'path':
      return visitPath(node, at);
    case 'name':
      if (at.atRoot) at.found.push([String(node['value'])]);
      return;
    case 'variable':
      return visitVariable(node, at);
    case 'wildcard':
    case 'descendant':
      if (at.atRoot) throw new Everything();
      return;
    case 'sort':
      return visitTerms(node, at);
    case 'transform':
      return ['pattern', 'update', 'delete'].forEach((member) =>
        visit(node[member], { ...at, atRoot: false }),
      );
    default:
      return visitParts(node, at);
  }
}

function visitParts(node: Node, at: Visit): void {
  const parts = SAME_CONTEXT.get(node['type']);
  if (!parts || takesContext(node, at)) throw new Everything();
  // takesContext() has checked a procedure that is named by a variable.
  const isNamed = isNode(node['procedure']) && node['procedure']['type'] === 'variable';
  for (const part of parts) if (part !== 'procedure' || !isNamed) visit(node[part], at);
}

/** Returns whether a call may read its whole context. */
function takesContext(node: Node, { atRoot }: Visit): boolean {
  const { type, procedure, arguments: given, signature } = node;
  if (type === 'lambda') return signature !== undefined;
  if (type !== 'function' && type !== 'partial') return false;
  const name = isNode(procedure) && procedure['type'] === 'variable' ? String(procedure['value']) : '';
  if (name === 'eval') return true;
  const takes = CONTEXTUAL.get(name) ?? 0;
  return atRoot && takes > 0 && (type === 'partial' || !Array.isArray(given) || given.length < takes);
}

function visitVariable({ value }: Node, { atRoot }: Visit): void {
  const name = String(value);
  const isInput = name === '$' || (name === '' && atRoot);
  // A function passed as a value may be called without arguments.
  if (isInput || name === 'eval' || CONTEXTUAL.has(name)) throw new Everything();
}

function visitPath({ steps, group }: Node, at: Visit): void {
  const below = { ...at, atRoot: false };
  if (!Array.isArray(steps)) throw new Everything();
  const [first, ...others] = steps;
  const fromRoot = isNode(first) ? namesFrom(first, others, at) : undefined;
  if (fromRoot) {
    if (fromRoot.length === 0) throw new Everything();
    at.found.push(fromRoot);
  }
  const isPlain = isNode(first) && (first['type'] === 'name' || first['type'] === 'variable');
  if (isPlain) visitFilters(first, at);
  else visit(first, at);
  for (const step of steps) if (isNode(step) && step['tuple'] === true) throw new Everything();
  visit(others, below);
  visitGroup(group, below);
}

/** Returns the names of a path from the root, up to its first filter; undefined when it begins elsewhere. */
function namesFrom(first: Node, others: readonly Json[], { atRoot }: Visit): Path | undefined {
  if (first['type'] === 'name' && atRoot) return leadingNames([first, ...others]);
  if (first['type'] !== 'variable') return undefined;
  const isInput = first['value'] === '$' || (first['value'] === '' && atRoot);
  if (!isInput) return undefined;
  return isFiltered(first) ? [] : leadingNames(others);
}

function leadingNames(steps: readonly Json[]): Path {
  const names: Path = [];
  for (const step of steps) {
    if (!isNode(step) || step['type'] !== 'name') break;
    names.push(String(step['value']));
    if (isFiltered(step)) break;
  }
  return names;
}

function isFiltered({ stages, predicate }: Node): boolean {
  return stages !== undefined || predicate !== undefined;
}

/** Visits filters and groups, which are evaluated on the found values. */
function visitFilters({ stages, predicate, group, type }: Node, at: Visit): void {
  const below = { ...at, atRoot: false };
  for (const filter of [stages, predicate].flat()) if (isNode(filter)) visit(filter['expr'], below);
  if (type !== 'path') visitGroup(group, below);
}

function visitGroup(group: Json | undefined, below: Visit): void {
  if (isNode(group)) visit(group['lhs'], below);
}

function visitTerms({ terms }: Node, at: Visit): void {
  for (const term of [terms].flat()) if (isNode(term)) visit(term['expression'], { ...at, atRoot: false });
}

function isNode(node: unknown): node is Node {
  return typeof node === 'object' && node !== null && !Array.isArray(node);
}
