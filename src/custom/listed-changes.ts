import { changesBetween as compared, type Changes } from '../openapi/changes.ts';

/** Longest list of changes; further entries are counted. */
const MAX_LISTED = 1000;

export type ListedChanges = Changes & { moreEntries: number };

/** Compares two checked definitions, given as JSON texts. Each list has at most 1,000 entries. */
export function changesBetween(before: string, after: string): ListedChanges {
  const { added, removed, changed, breaking } = compared(JSON.parse(before), JSON.parse(after));
  const lists = [added, removed, changed, breaking];
  return {
    added: added.slice(0, MAX_LISTED),
    removed: removed.slice(0, MAX_LISTED),
    changed: changed.slice(0, MAX_LISTED),
    breaking: breaking.slice(0, MAX_LISTED),
    moreEntries: lists.reduce((more, list) => more + Math.max(0, list.length - MAX_LISTED), 0),
  };
}
