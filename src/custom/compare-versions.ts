import { asObject, canonicalJson, isJsonObject, parseJson, type Json, type JsonObject } from '../lib/json.ts';
import type { Version } from './custom-rows.ts';

/** A member that differs between two versions. */
export interface Difference {
  /** Dotted path, within the action where it belongs to one. */
  path: string;
  change: 'added' | 'removed' | 'changed';
  /** The value in the first version; absent when it has none. */
  before?: Json;
  /** The value in the second version; absent when it has none. */
  after?: Json;
}

/** The differences of two versions of a custom connector. */
export interface Comparison {
  connectorId: string;
  from: number;
  to: number;
  /** Ids of actions that only the second version has. */
  added: string[];
  /** Ids of actions that only the first version has. */
  removed: string[];
  /** Actions that both have, with their differences. */
  changed: { actionId: string; differences: Difference[] }[];
  /** Differences of the other members of the file. */
  file: Difference[];
  /** Whether differences beyond the limit are left out. */
  truncated: boolean;
}

/** Limit of differences in a comparison. */
const MAX_DIFFERENCES = 1000;

/** Compares the checked files of two versions, in which left-out members have their defaults. */
export function compareVersions(from: Version, to: Version): Comparison {
  const [before, after] = [from, to].map(({ definition }) => asObject(parseJson(definition)));
  const { actions: oldActions, ...oldFile } = before ?? {};
  const { actions: newActions, ...newFile } = after ?? {};
  const [old, now] = [asObject(oldActions), asObject(newActions)];
  const budget = { left: MAX_DIFFERENCES };
  const file = within(budget, differences(oldFile, newFile));
  const changed = Object.keys(now)
    .filter((actionId) => Object.hasOwn(old, actionId))
    .map((actionId) => ({
      actionId,
      differences: within(budget, differences(asObject(old[actionId]), asObject(now[actionId]))),
    }))
    .filter((one) => one.differences.length > 0);
  return {
    connectorId: to.connectorId,
    from: from.version,
    to: to.version,
    added: Object.keys(now).filter((actionId) => !Object.hasOwn(old, actionId)),
    removed: Object.keys(old).filter((actionId) => !Object.hasOwn(now, actionId)),
    changed,
    file,
    truncated: budget.left < 0,
  };
}

/** Returns the differences that still fit. */
function within(budget: { left: number }, found: Difference[]): Difference[] {
  const fitting = found.slice(0, Math.max(budget.left, 0));
  budget.left -= found.length;
  return fitting;
}

/** Returns the members that differ. Lists and plain values are compared as a whole. */
export function differences(before: JsonObject, after: JsonObject, at = ''): Difference[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name): Difference[] => {
    const path = at === '' ? name : `${at}.${name}`;
    const [old, now] = [before[name], after[name]];
    if (old === undefined) return now === undefined ? [] : [{ path, change: 'added', after: now }];
    if (now === undefined) return [{ path, change: 'removed', before: old }];
    if (isJsonObject(old) && isJsonObject(now)) return differences(old, now, path);
    if (canonicalJson(old) === canonicalJson(now)) return [];
    return [{ path, change: 'changed', before: old, after: now }];
  });
}
