import { SECOND } from '../lib/clock.ts';

/** More entries are merged, so that a window of a day with many calls stays small. */
const MAX_ENTRIES = 256;

/** The limit of a sliding window: calls, or points by the cost of each call. */
interface Limit {
  requests?: number | undefined;
  points?: number | undefined;
  perSeconds: number;
}

/** The calls of a sliding window, oldest first. */
export interface Window {
  entries: { from: number; at: number; used: number }[];
  used: number;
}

export function createWindow(): Window {
  return { entries: [], used: 0 };
}

/** Returns the milliseconds until the window has room for `cost`, and removes calls that left it. */
export function windowWait(
  window: Window,
  limit: Limit,
  { cost, now }: { cost: number; now: number },
): number {
  const windowMs = limit.perSeconds * SECOND;
  const { entries } = window;
  for (let first = entries[0]; first && first.at <= now - windowMs; first = entries[0]) {
    window.used -= first.used;
    entries.shift();
  }
  const most = limit.requests ?? limit.points ?? 1;
  // A call that costs more than the whole window runs in an empty one.
  let excess = window.used + Math.min(cost, most) - most;
  if (excess <= 0) return 0;
  for (const { at, used } of entries) {
    excess -= used;
    if (excess <= 0) return at + windowMs - now;
  }
  return windowMs;
}

/** Counts a call. Calls of a full window are merged with the last entry while that spans little of the window. */
export function countCall(window: Window, limit: Limit, { cost, now }: { cost: number; now: number }): void {
  window.used += cost;
  const last = window.entries.at(-1);
  const spanMs = (limit.perSeconds * SECOND) / MAX_ENTRIES;
  if (last && window.entries.length >= MAX_ENTRIES && now - last.from < spanMs) {
    last.at = now;
    last.used += cost;
  } else window.entries.push({ from: now, at: now, used: cost });
}
