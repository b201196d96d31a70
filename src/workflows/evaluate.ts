import type { Context } from './context.ts';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { pathsOf, projectedMembers } from './expression-names.ts';

/** The values that expressions can read. */
export interface Scope {
  trigger: JsonObject;
  /** Results of the steps so far, by stepId: `data`, and more by kind. */
  steps: JsonObject;
  config: JsonObject;
  user: JsonObject & { userId: string };
}

const PLAIN_PATH = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/;
const WORDS = new Set(['and', 'or', 'in', 'true', 'false', 'null', 'function']);

/**
 * Returns the values of expressions for each variant of the scope, such as the items of a for-each.
 * Plain paths (`trigger.data.email`) are read here. A separate process evaluates all others within limits.
 * It receives only the values that the expressions name.
 * @throws GatehouseError `expression_failed`, `unavailable`
 */
export async function evaluate(
  { expressions }: Pick<Context, 'expressions'>,
  texts: readonly string[],
  { scope, variants = [{}] }: { scope: Scope; variants?: JsonObject[] | undefined },
): Promise<Json[][]> {
  const plain = variants.map((variant) => texts.map((text) => plainValue(text, { ...scope, ...variant })));
  const hard = texts.map((_, index) => plain.some((row) => row[index] === undefined));
  const asked = texts.filter((_, index) => hard[index]);
  const owner = scope.user.userId;
  const values =
    asked.length === 0
      ? []
      : await expressions.evaluate({ owner, expressions: asked, ...(await namedBy(asked, scope, variants)) });
  return plain.map((row, variant) => {
    let next = 0;
    return row.map((value, index) => (hard[index] ? values[variant]?.[next++] : value) ?? null);
  });
}

/**
 * Returns the values that expressions name in a scope and its variants; all values if one of them may read
 * everything.
 */
async function namedBy(
  texts: readonly string[],
  scope: Scope,
  variants: JsonObject[],
): Promise<{ scope: JsonObject; variants: JsonObject[] }> {
  const paths = await Promise.all(texts.map(pathsOf));
  if (paths.includes(undefined)) return { scope: { ...scope }, variants };
  const all = paths.flatMap((some) => some ?? []);
  return {
    scope: projectedMembers({ ...scope }, all),
    variants: variants.map((variant) => projectedMembers(variant, all)),
  };
}

/** Returns JSONata's value of a path that passes only through objects; undefined for any other expression. */
function plainValue(text: string, scope: JsonObject): Json | undefined {
  const path = text.trim();
  if (!PLAIN_PATH.test(path)) return undefined;
  let at: Json = scope;
  for (const name of path.split('.')) {
    if (WORDS.has(name) || !isJsonObject(at)) return undefined;
    const member: Json | undefined = Object.hasOwn(at, name) ? at[name] : undefined;
    if (member === undefined) return null;
    at = member;
  }
  // JSONata treats arrays in a path as sequences, with special rules.
  return Array.isArray(at) ? undefined : at;
}

/** Returns whether JSONata's $boolean() would be true. */
export function isTrue(value: Json): boolean {
  if (Array.isArray(value)) return value.some(isTrue);
  return isJsonObject(value) ? Object.keys(value).length > 0 : Boolean(value);
}
