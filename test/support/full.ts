/**
 * Whether tests run their full form, with all inputs: `npm run proof:sampled`. Otherwise a sample runs.
 */
export const IS_FULL = process.env['PROOF'] === 'full';

/** Returns all cases in the full form; otherwise one in `step`, of which `offset` is the first. */
export function sampled<T>(cases: readonly T[], step: number, offset = 0): T[] {
  return IS_FULL ? [...cases] : cases.filter((_, index) => index % step === offset % step);
}
