import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';

const MAX_FIELDS = 50;
const MAX_PATH = 200;

/** Which members of a record are wanted: dotted paths, through lists too (`lines.sku`); `\\.` is a dot of a name. */
export const fieldsSchema = z
  .array(
    z
      .string()
      .max(MAX_PATH, `must have at most ${MAX_PATH} characters`)
      .refine((path) => partsOf(path).every((part) => part !== ''), 'must be a path such as customer.email'),
  )
  .min(1, 'must name at least one field')
  .max(MAX_FIELDS, `must name at most ${MAX_FIELDS} fields`);

interface Wanted {
  /** The path itself is wanted, with all that is below it. */
  whole: boolean;
  below: Map<string, Wanted>;
  /** The path as it was written, where one ends here. */
  path: string | undefined;
  met: boolean;
}

/**
 * The named members alone, of a record or of each in a list, in the order and shape in which they stand there. A path that
 * nothing has is left out and told in `unmatched`, since it may be misspelt; nothing has no members to be missed.
 */
export function projectFields(value: Json, paths: readonly string[]): { value: Json; unmatched: string[] } {
  const root = wanted();
  for (const path of paths) {
    let at = root;
    for (const part of partsOf(path)) {
      const next = at.below.get(part) ?? wanted();
      at.below.set(part, next);
      at = next;
    }
    at.whole = true;
    at.path = path;
  }
  const picked = pick(value, root) ?? null;
  const empty = value === null || (Array.isArray(value) && value.length === 0);
  return { value: picked, unmatched: empty ? [] : unmetIn(root) };
}

function wanted(): Wanted {
  return { whole: false, below: new Map(), path: undefined, met: false };
}

function partsOf(path: string): string[] {
  return path.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'));
}

/** Undefined for what cannot have the members that are wanted: a text, a number. */
function pick(value: Json, node: Wanted): Json | undefined {
  if (value === null) return null;
  if (Array.isArray(value)) {
    return value.map((item) => pick(item, node)).filter((item) => item !== undefined);
  }
  if (!isJsonObject(value)) return undefined;
  const picked: JsonObject = {};
  for (const [name, below] of node.below) {
    if (!Object.hasOwn(value, name)) continue;
    const member = value[name] ?? null;
    below.met = true;
    const kept = below.whole ? member : pick(member, below);
    if (kept !== undefined) picked[name] = kept;
  }
  return picked;
}

function unmetIn(node: Wanted): string[] {
  return [...node.below.values()].flatMap((below) => {
    const own = below.path !== undefined && !below.met ? [below.path] : [];
    return [...own, ...(below.whole && below.met ? [] : unmetIn(below))];
  });
}
