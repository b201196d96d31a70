import type { Sent } from './sent.ts';

/** Names whose members a comparison also reads. */
export interface Wanted {
  [name: string]: Wanted;
}

/** Returns the names that an action sends. */
export function wantedOf({ of }: Sent): Wanted {
  return Object.fromEntries([...of].map(([name, one]) => [name, wantedOf(one)]));
}

export function wantedPaths(paths: readonly (readonly string[])[]): Wanted {
  const root: Wanted = {};
  for (const steps of paths) {
    let at = root;
    for (const step of steps) at = at[step] ??= {};
  }
  return root;
}

export function unite(a: Wanted, b: Wanted): Wanted {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...names].map((name) => [name, unite(a[name] ?? {}, b[name] ?? {})]));
}
