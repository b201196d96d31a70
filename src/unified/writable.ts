import type { EventScope } from '../connectors/event-scopes.ts';
import type { UnifiedCreate, UnifiedUpdate } from '../connectors/format/write-format.ts';
import { faultsOf, type Fault } from '../lib/errors.ts';
import { isJsonObject, valueAt, type Json, type JsonObject } from '../lib/json.ts';
import { UNIFIED_MODELS } from './models.ts';

/**
 * Returns the faults of the members that a caller gives for a record: those that the model does not know or that do
 * not fit it, those that the connector does not set, and missing ones.
 */
export function givenFaults(
  scope: EventScope,
  part: UnifiedCreate | UnifiedUpdate,
  { given, connector }: { given: JsonObject; connector: string },
): Fault[] {
  const parsed = UNIFIED_MODELS[scope].safeParse(given);
  if (!parsed.success) return faultsOf(parsed.error.issues);
  if (Object.keys(given).length === 0) return [{ field: '', rule: 'must have at least one member' }];
  const unset = [...new Set(pathsIn(given))]
    .filter((path) => !part.members.some((member) => covers(member, path)))
    .map((field) => ({
      field,
      rule: `is not set by ${connector} here; it sets: ${part.members.join(', ')}`,
    }));
  const required = 'required' in part ? part.required : [];
  const missing = required
    .filter((member) => isEmpty(valueAt(given, member)))
    .map((field) => ({ field, rule: `is required by ${connector}` }));
  return [...unset, ...missing];
}

/** Returns the paths of the values in a record; the items of a list have the path of the list. */
function pathsIn(value: Json, path = ''): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [path] : value.flatMap((item) => pathsIn(item, path));
  if (!isJsonObject(value) || (path !== '' && Object.keys(value).length === 0)) return [path];
  return Object.entries(value).flatMap(([name, member]) =>
    pathsIn(member, path === '' ? name : `${path}.${name}`),
  );
}

/**
 * Returns whether a member of a connector file includes a path: `addresses` includes `addresses.city`. A whole member
 * that is null or empty is included by its parts.
 */
function covers(member: string, path: string): boolean {
  return path === member || path.startsWith(`${member}.`) || member.startsWith(`${path}.`);
}

function isEmpty(value: Json | undefined): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}
