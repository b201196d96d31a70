import { asObject } from '../../lib/json.ts';

/** The depth of a schema that is left out is 40, and a list of tools is at the fourth level of a message. */
const MAX_ENTRY_DEPTH = 50;

/** The member of a listed entry that stands for one that is nested too deep. */
export const TOO_DEEP = 'gatehouse/tooDeep';

/** Returns the entries of a list. An entry that is nested too deep keeps only its name, so that it refuses no other. */
export function shallowEntries(entries: readonly unknown[]): unknown[] {
  return entries.map((entry) => {
    if (!isDeeper(entry, MAX_ENTRY_DEPTH)) return entry;
    const { name } = asObject(entry);
    return { ...(typeof name === 'string' ? { name } : {}), [TOO_DEEP]: true };
  });
}

function isDeeper(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return left === 0 || Object.values(value).some((one) => isDeeper(one, left - 1));
}
