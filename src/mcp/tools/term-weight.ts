/** A term weighs more when fewer actions have it, down to this number, because still rarer terms are names and other details. */
const RARE = 5;

/** Returns the weight of a term that `having` of `total` actions have. */
export function termWeight(total: number, having: number): number {
  return Math.log(1 + total / Math.max(RARE, having));
}
