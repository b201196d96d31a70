/** Terms of this many actions or fewer weigh the same, because they are mostly names and details. */
const RARE = 5;

/** Returns the weight of a term that `withTerm` of `total` actions have. Terms of fewer actions weigh more. */
export function termWeight(total: number, withTerm: number): number {
  return Math.log(1 + total / Math.max(RARE, withTerm));
}
