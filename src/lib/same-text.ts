import { hash, timingSafeEqual } from 'node:crypto';

/** Returns whether two secrets are equal, in a time that does not depend on how much of them is. */
export function sameText(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}
