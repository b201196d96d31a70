import type { Context } from '../context.ts';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { pathsOf, projectedMembers } from './expression-names.ts';

/** What expressions see (contract.md section 8). */
export interface Scope {
  trigger: JsonObject;
  /** What came of the steps so far, by stepId: `data`, and more by kind. */
  steps: JsonObject;
  config: JsonObject;
  user: JsonObject & { userId: string };
}

const PLAIN_PATH = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/;
const WORDS = new Set(['and', 'or', 'in', 'true', 'false', 'null', 'function']);

/**
 * Returns the values of expressions for each variant of the scope, such as the items of a for-each. Plain paths
 * (`trigger.data.email`) are read here; everything else is evaluated within limits by a process of its own, which is given what
 * the expressions name.
 * @throws GatehouseError `expression_failed`, `unavailable`
 */
export async function evaluate(
  { expressions }: Pick<Context, 'expressions'>,
  texts: readonly string[],
  scope: Scope,
  variants: JsonObject[] = [{}],
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

/** What expressions name of a scope and its variants; all of it where one of them may read all. */
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

/** What JSONata says of a path that goes through objects alone; undefined where it is more than that. */
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
  // Arrays within paths are sequences to JSONata, with rules of their own.
  return Array.isArray(at) ? undefined : at;
}

/** Whether JSONata's $boolean() would say true. */
export function isTrue(value: Json): boolean {
  if (Array.isArray(value)) return value.some(isTrue);
  return isJsonObject(value) ? Object.keys(value).length > 0 : Boolean(value);
}
