/** Growth of the wait between retries. */
interface Growth {
  firstMs: number;
  longestMs?: number;
  /** Factor between a wait and the next. */
  factor?: number;
}

const MAX_GROWTHS = 10;

/** Returns the wait after this many failures in a row, in milliseconds. The wait grows at most ten times. */
export function backoff(failures: number, { firstMs, longestMs = Infinity, factor = 2 }: Growth): number {
  return Math.min(longestMs, firstMs * factor ** Math.min(failures - 1, MAX_GROWTHS));
}

/** Varies a wait by up to `fraction` to either side, so that work that began together drifts apart. */
export function jitter(ms: number, fraction: number): number {
  return Math.round(ms * (1 - fraction + 2 * fraction * Math.random()));
}

/** Returns a random wait below `ms`. Source: full jitter in the backoff article of the AWS architecture blog. */
export function fullJitter(ms: number): number {
  return ms * Math.random();
}
