import { isJsonObject } from '../lib/json.ts';

/*
 * Plain expressions of JSONata take time and memory in proportion to their input. They are paths of names, objects of
 * paths, comparisons and conditions. A path must not continue after an object, because each step could double the result.
 */

const OPERATORS = new Set(['&', '=', '!=', '<', '<=', '>', '>=', 'and', 'or', '+', '-', '*', '/']);
/** Parts of a node that filter, group, sort or bind. */
const FURTHER = ['predicate', 'stages', 'group', 'focus', 'index', 'ancestor', 'tuple'];

/** Returns whether the syntax tree of an expression is plain. */
export function isPlainExpression(node: unknown): boolean {
  const { type, value, ...parts } = membersOf(node);
  if (FURTHER.some((name) => parts[name] !== undefined)) return false;
  switch (type) {
    case 'string':
    case 'number':
    case 'value':
    case 'name':
      return true;
    case 'path':
      return isPlainPath(parts['steps']);
    case 'unary':
      return value === '{' && isPlainObject(parts['lhs']);
    case 'binary':
      return (
        OPERATORS.has(String(value)) && isPlainExpression(parts['lhs']) && isPlainExpression(parts['rhs'])
      );
    case 'condition':
      return [parts['condition'], parts['then'], parts['else']].every(
        (part) => part === undefined || isPlainExpression(part),
      );
    case 'block': {
      const { expressions } = parts;
      return Array.isArray(expressions) && expressions.length === 1 && isPlainExpression(expressions[0]);
    }
    default:
      return false;
  }
}

/** A path is plain where each step is a name, the first one may be `$`, and the last one an object. */
function isPlainPath(steps: unknown): boolean {
  if (!Array.isArray(steps)) return false;
  return steps.every((step, index) => {
    const { type, value } = membersOf(step);
    if (type === 'variable') return value === '' && index === 0 && steps.length > 1;
    if (type === 'name') return isPlainExpression(step);
    return index === steps.length - 1 && type === 'unary' && isPlainExpression(step);
  });
}

function isPlainObject(pairs: unknown): boolean {
  return (
    Array.isArray(pairs) &&
    pairs.every(
      (pair) => Array.isArray(pair) && membersOf(pair[0])['type'] === 'string' && isPlainExpression(pair[1]),
    )
  );
}

function membersOf(node: unknown): Record<string, unknown> {
  return isJsonObject(node) ? node : {};
}
