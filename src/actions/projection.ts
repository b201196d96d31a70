import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';

const MAX_FIELDS = 50;
const MAX_PATH = 200;

/** The requested members of a record: dotted paths, also through lists (`lines.sku`); `\\.` is a dot of a name. */
export const fieldsSchema = z
  .array(
    z
      .string()
      .max(MAX_PATH, `must have at most ${MAX_PATH} characters`)
      .refine((path) => partsOf(path).every((part) => part !== ''), 'must be a path such as customer.email'),
  )
  .min(1, 'must name at least one field')
  .max(MAX_FIELDS, `must name at most ${MAX_FIELDS} fields`);

/**
 * Returns a result with the requested fields. A result stored for an Idempotency-Key stays whole, because a repetition
 * may request other fields.
 */
export function selected<Result extends { data: Json }>(
  result: Result,
  fields: readonly string[],
): Result & { unmatchedFields?: string[] } {
  const { value, unmatched } = projectFields(result.data, fields);
  return { ...result, data: value, ...(unmatched.length > 0 ? { unmatchedFields: unmatched } : {}) };
}

interface Wanted {
  /** Whether the path itself is requested, with all members below it. */
  whole: boolean;
  below: Map<string, Wanted>;
  /** The path as the caller wrote it, where a path ends here. */
  path: string | undefined;
  met: boolean;
}

/**
 * Returns only the named members of a record, or of each record in a list, in their order and shape. A path that no
 * record has is listed in `unmatched`, because it may be misspelt. An empty value has no unmatched paths.
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

/** Returns undefined for a value that cannot have members: a text, a number. */
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
