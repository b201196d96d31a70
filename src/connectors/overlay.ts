import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { JsonObject } from '../lib/json.ts';

/* A person's changes to a connector file, in a separate file next to it, which imports do not change. */

const OVERLAY = 'overlay.yaml';

export interface Overlay {
  file: string;
  text: string;
}

/** Returns the path of the overlay next to a connector file, whether it exists or not. */
export function overlayPath(file: string): string {
  return join(dirname(file), OVERLAY);
}

/**
 * Returns the overlay next to a connector file; undefined where there is none.
 * @throws where it exists and cannot be read.
 */
export function overlayOf(file: string): Overlay | undefined {
  const path = overlayPath(file);
  try {
    return { file: path, text: readFileSync(path, 'utf8') };
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return undefined;
    throw error;
  }
}

/** Merges an overlay into a value as RFC 7396 says: objects member by member, `null` removes, all else replaces. */
export function merged(value: unknown, overlay: unknown): unknown {
  if (!isObject(overlay)) return overlay;
  const members = new Map(Object.entries(isObject(value) ? value : {}));
  for (const [name, change] of Object.entries(overlay)) {
    if (change === null) members.delete(name);
    else members.set(name, merged(members.get(name), change));
  }
  return Object.fromEntries(members);
}

/**
 * Returns an overlay without its changes to actions that the file does not have. Such an action may have been in an
 * earlier file, and its changes apply again when it returns. An entry with a `request` is a new action.
 */
export function fittingOverlay(
  overlay: JsonObject,
  file: unknown,
): { overlay: JsonObject; unused: string[] } {
  const { actions } = overlay;
  if (!isObject(actions)) return { overlay, unused: [] };
  const known = isObject(file) && isObject(file['actions']) ? file['actions'] : {};
  const fits = ([id, change]: [string, unknown]) =>
    Object.hasOwn(known, id) || (isObject(change) && change['request'] !== undefined);
  const unused = Object.entries(actions).filter((entry) => !fits(entry));
  const used = Object.fromEntries(Object.entries(actions).filter(fits));
  return { overlay: { ...overlay, actions: used }, unused: unused.map(([id]) => id) };
}

/** Returns whether an overlay sets the member at a dotted path of the file that it was merged into. */
export function setsMember(overlay: unknown, file: unknown, path: string): boolean {
  return depthOf(overlay, path) >= Math.max(1, depthOf(file, path));
}

/** Returns how many members of a dotted path a value has, from its top. */
function depthOf(value: unknown, path: string): number {
  let at = value;
  let depth = 0;
  for (const name of path.split('.')) {
    if (!isObject(at) || !Object.hasOwn(at, name)) return depth;
    at = at[name];
    depth++;
  }
  return depth;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
