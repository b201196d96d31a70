import type { ExprNode } from 'jsonata';
import { compileExpression, reasonOf } from '../upstream/expression.ts';
import type { Fault } from '../lib/errors.ts';
import { isJsonObject, type Json } from '../lib/json.ts';

/** An expression in an input, and the place of its value. */
export interface Slot {
  path: (string | number)[];
  expression: string;
}

/**
 * Returns the expressions of an input: strings that begin with `=`. A string with `==` is a literal that begins with
 * `=`.
 */
export function slotsOf(input: Json, path: (string | number)[] = []): Slot[] {
  if (typeof input === 'string') {
    const text = expressionIn(input);
    return text === undefined ? [] : [{ path, expression: text }];
  }
  if (Array.isArray(input)) return input.flatMap((item, index) => slotsOf(item, [...path, index]));
  if (!isJsonObject(input)) return [];
  return Object.entries(input).flatMap(([name, member]) => slotsOf(member, [...path, name]));
}

/** Returns the expression of a string, or undefined for a literal. */
export function expressionIn(text: string): string | undefined {
  return text.startsWith('=') && !text.startsWith('==') ? text.slice(1) : undefined;
}

/** Returns the input with the values of its expressions, in the order of slotsOf(). */
export function filled(input: Json, values: readonly Json[]): Json {
  let next = 0;
  const fill = (value: Json): Json => {
    if (typeof value === 'string') {
      if (expressionIn(value) !== undefined) return values[next++] ?? null;
      return value.startsWith('==') ? value.slice(1) : value;
    }
    if (Array.isArray(value)) return value.map(fill);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, fill(member)]));
  };
  return fill(input);
}

/** Returns the expression of `when`, `forEach` or `map`, where a leading `=` is optional. */
export function bare(expression: string): string {
  return expressionIn(expression) ?? expression;
}

/** The names that an expression may use at its root. */
export interface Names {
  /** Steps that come before. */
  steps: ReadonlySet<string>;
  /** All steps, to distinguish a later step from a missing one. */
  allSteps: ReadonlySet<string>;
  /** Configurable fields; undefined means any. */
  config: ReadonlySet<string> | undefined;
  /** Whether `item` and `index` exist. */
  item: boolean;
}

/** Returns the faults of an expression: a syntax error, or names that do not exist when it is evaluated. */
export async function expressionFaults(expression: string, field: string, names: Names): Promise<Fault[]> {
  let tree: ExprNode;
  try {
    tree = (await compileExpression(expression, {})).ast();
  } catch (error) {
    return [{ field, rule: `is not a valid JSONata expression: ${reasonOf(error).slice(0, 200)}` }];
  }
  const rules = new Set<string>();
  for (const path of rootPaths(tree)) {
    const rule = brokenRule(path, names);
    if (rule !== undefined) rules.add(rule);
  }
  return [...rules].map((rule) => ({ field, rule }));
}

function brokenRule([root = '', name]: string[], names: Names): string | undefined {
  if (root === 'item' || root === 'index')
    return names.item ? undefined : `names ${root}, which exists only in the input of a step with forEach`;
  if (!['trigger', 'steps', 'config', 'user'].includes(root))
    return `names "${root.slice(0, 64)}"; known: trigger, steps, config and user`;
  if (name === undefined) return undefined;
  if (root === 'config' && names.config && !names.config.has(name))
    return `names config.${name.slice(0, 64)}, which is no configurable field`;
  if (root !== 'steps' || names.steps.has(name)) return undefined;
  return names.allSteps.has(name)
    ? `refers to steps.${name}, which does not come before this step`
    : `refers to steps.${name.slice(0, 64)}, and there is no such step`;
}

/** Returns the paths of an expression that begin at its root: `steps.a.data` as ['steps', 'a', 'data']. */
function rootPaths(tree: ExprNode): string[][] {
  const found: string[][] = [];
  const seen = new Set<unknown>();
  const visit = (node: unknown, atRoot: boolean): void => {
    if (typeof node !== 'object' || node === null || seen.has(node)) return;
    seen.add(node);
    if (Array.isArray(node)) return node.forEach((one) => visit(one, atRoot));
    const { type, steps, ...rest }: { type?: unknown; steps?: unknown } = { ...node };
    if (type === 'path' && Array.isArray(steps)) {
      const [first, ...others] = steps;
      const isRoot = isNode(first, 'variable') && first.value === '$';
      const isContext = isNode(first, 'variable') && first.value === '';
      if (isRoot || (atRoot && isContext)) found.push(leadingNames(others));
      else if (atRoot && isNode(first, 'name')) found.push(leadingNames(steps));
      // In the predicate of a name and in later steps, names are members of the found value.
      if (isNode(first, 'name') || isNode(first, 'variable')) visitBelow(first);
      else visit(first, atRoot);
      for (const other of others) visitBelow(other);
      visit(rest, false);
      return;
    }
    // Names in a transformation are members of the value that it transforms.
    if (type === 'transform') return visit(Object.values(node), false);
    // Names in groups and filters are members of the grouped or filtered value.
    const {
      group,
      predicate,
      stages,
      ...others
    }: { group?: unknown; predicate?: unknown; stages?: unknown } = node;
    visit([group, predicate, stages], false);
    visit(Object.values(others), atRoot);
  };
  const visitBelow = (node: unknown): void => {
    if (typeof node !== 'object' || node === null || seen.has(node)) return;
    seen.add(node);
    visit(Object.values(node), false);
  };
  visit(tree, true);
  return found.filter((path) => path.length > 0);
}

function isNode(node: unknown, type: string): node is { type: string; value: unknown } {
  return typeof node === 'object' && node !== null && 'type' in node && node.type === type;
}

function leadingNames(steps: unknown[]): string[] {
  const names: string[] = [];
  for (const step of steps) {
    if (!isNode(step, 'name') || typeof step.value !== 'string') break;
    names.push(step.value);
  }
  return names;
}
